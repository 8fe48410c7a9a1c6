import type { AnyStep } from "../../../src/protocol/step.ts";
import type { Thread } from "../../../src/protocol/thread.ts";
import { rootOf } from "../../../src/protocol/thread.ts";
import type { AskKind } from "../../../src/protocol/values.ts";
import { viewThread } from "../../../src/protocol/view-thread.ts";
import type { Verbs } from "../../../src/server/verbs.ts";
import type { Act, When } from "./plan.ts";

export const CLERK = { id: "clerk", name: "Clerk" } as const;

/** A step as it was on the screen. */
type Seen = Pick<AnyStep, "id" | "digest">;

/** A write as it is sent, so that it can be sent again. */
export interface Write {
  readonly key: string;
  readonly act: Act["do"];
  /** The calls it decides about, as they were seen. */
  readonly about: readonly Seen[];
  perform(verbs: Verbs): Promise<unknown>;
}

/** What became of a write: `ok`, the code of its refusal, or what else was thrown. */
export interface Answer {
  readonly key: string;
  readonly act: Act["do"];
  readonly about: readonly Seen[];
  readonly outcome: string;
  /** The end of the log when the answer came. */
  readonly seq: number;
}

/** What a person presses for an act, from what is on their screen; undefined while there is nothing to press. */
export function press(act: Act, thread: Thread, key: string, sent: readonly Write[]): Write | undefined {
  const threadId = thread.id;
  const who = { user: CLERK, key };
  const view = viewThread(thread);
  const { pending, steps } = view;
  const write = (perform: Write["perform"], about: readonly AnyStep[] = []): Write => ({
    ...{ key, act: act.do, about: about.map(({ id, digest }) => ({ id, digest })), perform },
  });
  const asked = (...kinds: readonly AskKind[]): readonly AnyStep[] =>
    pending.filter((step) => step.ask && kinds.includes(step.ask.kind));
  switch (act.do) {
    case "approve": {
      const scope = act.scope ?? undefined;
      const open = asked("approval");
      const step = pick(open, act.pick);
      if (!step) return undefined;
      const about = act.all ? open : [step];
      return write((verbs) => verbs.approve(about, { ...who, scope }), about);
    }
    case "deny": {
      const step = pick(pending, act.pick);
      const said = { stop: act.stop ?? undefined, reason: act.reason ?? undefined, scope: act.scope ?? undefined };
      return step && write((verbs) => verbs.deny(step, { ...who, ...said }), [step]);
    }
    case "edit": {
      const step = pick(asked("approval"), act.pick);
      return step && write((verbs) => verbs.approve(step, { ...who, input: act.input }), [step]);
    }
    case "extend": {
      const step = pick(pending, act.pick);
      return step && write((verbs) => verbs.extend(step, who), [step]);
    }
    case "retry": {
      const step = pick(asked("interrupted"), act.pick);
      return step && write((verbs) => verbs.retry(step, who), [step]);
    }
    case "skip": {
      const step = pick(asked("interrupted", "question", "link", "browser"), act.pick);
      return step && write((verbs) => verbs.skip(step, who), [step]);
    }
    case "answer": {
      const step = pick(asked("interrupted", "question", "link", "browser"), act.pick);
      const given = act.error ? { error: "planned: it failed" } : { value: act.value };
      return step && write((verbs) => verbs.answer(step, { ...who, ...given }), [step]);
    }
    case "meddle": {
      const step = pick(steps, act.pick);
      if (!step) return undefined;
      const meant = act.digest === "own" ? step : { ...step, digest: pick(steps, act.pick + 1)?.digest ?? "x" };
      if (act.how === "answer") return write((verbs) => verbs.answer(meant, { ...who, value: 1 }), [meant]);
      return write((verbs) => verbs[act.how as "approve" | "deny" | "retry"](meant, who), [meant]);
    }
    case "send": {
      if (!isTime(act.when, thread)) return undefined;
      const denies = act.deny ? ("deny" as const) : undefined;
      return write((verbs) => verbs.send({ ...who, threadId, message: act.text, pending: denies }));
    }
    case "stop":
      if (!rootOf(thread) || !isTime(act.when, thread)) return undefined;
      return write((verbs) => verbs.stop({ ...who, threadId }));
    case "continue": {
      if (rootOf(thread) || view.outcome === "completed") return undefined;
      return write((verbs) => verbs.continue({ ...who, threadId, turns: act.turns ?? undefined }));
    }
    case "revoke": {
      const grant = pick(thread.grants, act.pick);
      return grant && write((verbs) => verbs.revoke({ ...who, threadId, grantId: grant.grantId }));
    }
    case "rename":
      return write((verbs) => verbs.rename({ ...who, threadId, title: "Renamed" }));
    case "sweep":
      return write((verbs) => verbs.sweep());
    case "again":
      return pick(sent, act.pick);
    case "crash":
    case "pause":
      return undefined; // nobody's wish
    default:
      return act satisfies never;
  }
}

/** True when what an act waits for is under way. */
export function isTime(when: When, { active }: Thread): boolean {
  const turns = active.flatMap(({ turn }) => turn ?? []);
  if (when === "writing") return turns.some(({ status }) => status === "open");
  const parents = active.map(({ parentCallId }) => parentCallId);
  const runs = turns.flatMap(({ calls }) =>
    calls.filter(({ status, callId }) => status === "running" && !parents.includes(callId)),
  );
  return when === "now" || runs.length > 0;
}

function pick<Item>(items: readonly Item[], index: number): Item | undefined {
  return items.length > 0 ? items[index % items.length] : undefined;
}

/** A refusal has a code of ours; anything else is told in full. */
export function outcomeOf(error: unknown): string {
  if (error instanceof Error && error.name === "ToolRunError" && "code" in error) return String(error.code);
  return `threw ${error instanceof Error ? error.stack : String(error)}`;
}
