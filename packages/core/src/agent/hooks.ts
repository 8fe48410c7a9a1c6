import type { ModelMessage } from "../model/model.ts";
import type { User } from "../protocol/typed.ts";
import type { Json, Usage } from "../protocol/values.ts";

/** Where a hook is called. */
export interface HookContext {
  readonly user: User;
  readonly threadId: string;
  readonly runId: string;
  /** 1-based number of the model call in its run. */
  readonly turn: number;
}

/** A call as the tool hooks see it: the input that runs. What runs was decided before; only a policy can change it. */
export interface HookCall extends Omit<HookContext, "turn"> {
  readonly tool: string;
  readonly callId: string;
  readonly input: Json;
  /** 1 for the first try. */
  readonly attempt: number;
}

/**
 * Looks into a run at four places. A model hook that throws ends the run as failed (`hook-failed`); a tool hook
 * that throws fails its call. For what may run, use a policy: it decides before anything is shown.
 */
export interface Hooks {
  /** Before each request. Returned messages go out instead; calls and results must stay paired. */
  readonly beforeModel?:
    | ((
        request: HookContext & { readonly messages: readonly ModelMessage[] },
      ) => HookResult<{ readonly messages: readonly ModelMessage[] }>)
    | undefined;
  /** After each whole answer, before any of its calls is judged. */
  readonly afterModel?:
    | ((
        answer: HookContext & {
          readonly text: string;
          readonly calls: readonly { readonly tool: string; readonly input: string }[];
          readonly finishReason: string;
          readonly usage: Usage | undefined;
        },
      ) => HookResult<never>)
    | undefined;
  /** Right before a server tool runs. An `output` takes the place of running it; `afterTool` is not asked then. */
  readonly beforeTool?: ((call: HookCall) => HookResult<{ readonly output: unknown }>) | undefined;
  /** After a server tool returned. An `output` takes the place of its own. */
  readonly afterTool?:
    | ((call: HookCall & { readonly output: unknown }) => HookResult<{ readonly output: unknown }>)
    | undefined;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing
type HookResult<Value> = Value | undefined | void | Promise<Value | undefined | void>;
