import type { Gate } from "../../../src/agent/gate.ts";
import type { Hooks } from "../../../src/agent/hooks.ts";
import type { StopWhen } from "../../../src/agent/stop-when.ts";
import type { ModelMessage } from "../../../src/model/model.ts";
import type { OutsideClock } from "./place.ts";
import type { GatePlan, HooksPlan, StopPlan, VerdictPlan } from "./plan.ts";
import { hang, pass } from "./waiting.ts";

/** How long a slow rule or hook takes. */
export const SLOW_MS = 3_000;

function breaks(): never {
  throw new Error("planned: this rule throws");
}

/** What an approval of a tool with the rule "ask-key" is worth. */
export const KEYED = { key: ["all"], label: "planned", uses: 2, forMs: 30_000 } as const;

const MODIFIED = { amount: 99 } as const;

/** What a planned policy answers; not all of it is a verdict. */
export function speak(plan: VerdictPlan, clock: OutsideClock): unknown {
  switch (plan) {
    case "none":
      return undefined;
    case "allow":
    case "ask":
      return plan;
    case "later-allow":
      return Promise.resolve("allow");
    case "later-ask":
      return Promise.resolve("ask");
    case "slow-allow":
      return pass(clock, SLOW_MS).then(() => "allow");
    case "ask-soon":
      return { ask: { expiresInMs: 5_000, scopes: ["once", "run", "thread"] } };
    case "ask-fixed":
      return { ask: { editable: false, reason: "planned" } };
    case "ask-note":
      return { ask: { editable: ["note"] } };
    case "ask-key":
      return { ask: { expiresInMs: 50_000, scopes: ["once", "run", "thread"], grant: KEYED } };
    case "deny":
      return { deny: "planned: not allowed" };
    case "throw":
      return breaks();
    case "slow-throw":
      return pass(clock, SLOW_MS).then(breaks);
    case "garbage":
      return "yes please";
    case "hang":
      return hang();
    case "modify":
      return { modify: MODIFIED };
    case "modify-ask":
      return { modify: MODIFIED, ask: {} };
    case "modify-bad":
      return { modify: { amount: "much" } };
    default:
      return plan satisfies never;
  }
}

export function plannedStop(plan: StopPlan): StopWhen {
  return ({ turn, text, calls }) => {
    switch (plan) {
      case "never":
        return undefined;
      case "later":
        return Promise.resolve(false);
      case "second":
        return turn >= 2;
      case "calls":
        return calls.length > 0;
      case "text":
        return text && `planned: it says ${text.length} characters`;
      case "throws":
        return breaks();
      case "hangs":
        return hang();
      default:
        return plan satisfies never;
    }
  };
}

export function plannedGate({ says, maxAttempts }: GatePlan): Gate {
  return {
    maxAttempts,
    check({ attempts }) {
      switch (says[attempts]) {
        case "no":
          return "planned: more";
        case "later-no":
          return Promise.resolve("planned: more, later");
        case "throws":
          return breaks();
        case "hangs":
          return hang();
        default:
          return true;
      }
    },
  };
}

/** What a hook of the plan puts into the history. */
export const HOOKED = "[Note from the app's hook]";
/** What it gives in the place of a tool's output. */
export const INSTEAD = { instead: true } as const;

const NOTE: ModelMessage = { role: "user", parts: [{ type: "text", text: HOOKED }] };
const HALF: ModelMessage = { role: "assistant", parts: [{ type: "call", id: "half", name: "read", inputText: "{}" }] };

export function plannedHooks(plan: HooksPlan, clock: OutsideClock): Hooks {
  const act = (what: HooksPlan[keyof HooksPlan]): Promise<void> | undefined => {
    if (what === "throws") breaks();
    if (what === "slow") return pass(clock, SLOW_MS);
    if (what === "slow-throws") return pass(clock, SLOW_MS).then(breaks);
    return what === "hangs" ? hang() : undefined;
  };
  const { beforeModel, afterModel, beforeTool, afterTool } = plan;
  return {
    beforeModel:
      beforeModel === "none"
        ? undefined
        : ({ messages }) => {
            if (beforeModel === "note") return { messages: [...messages, NOTE] };
            if (beforeModel === "unpaired") return { messages: [...messages, HALF] };
            return act(beforeModel);
          },
    afterModel: afterModel === "none" ? undefined : () => act(afterModel),
    beforeTool:
      beforeTool === "none" ? undefined : () => (beforeTool === "instead" ? { output: INSTEAD } : act(beforeTool)),
    afterTool:
      afterTool === "none" ? undefined : () => (afterTool === "instead" ? { output: INSTEAD } : act(afterTool)),
  };
}
