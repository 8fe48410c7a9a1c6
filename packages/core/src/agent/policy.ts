import type { TypedTool, User } from "../protocol/typed.ts";
import type { ToolAnnotations } from "./annotations.ts";
import type { Verdict } from "./verdict.ts";

/** Who asked for the call a policy looks at. */
export interface PolicyContext {
  readonly user: User;
  readonly threadId: string;
  readonly runId: string;
}

/** A call as a policy sees it. */
export interface PolicyCall<Name extends string = string, Input = unknown> {
  readonly tool: Name;
  readonly input: Input;
  readonly callId: string;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  /** Hints of the tool's own: they prove nothing. */
  readonly annotations?: ToolAnnotations | undefined;
}

type CallOf<Tools> = string extends keyof Tools
  ? PolicyCall<string, never>
  : {
      [Name in keyof Tools & string]: PolicyCall<
        Name,
        Tools[Name] extends TypedTool<infer Types> ? Types["input"] : unknown
      >;
    }[keyof Tools & string];

/** Decides over every call of an agent; `undefined` is no opinion. A policy that throws denies that call. */
export type Policy<Tools = Readonly<Record<string, TypedTool>>> = (
  call: CallOf<Tools>,
  context: PolicyContext,
) => Verdict | Promise<Verdict>;
