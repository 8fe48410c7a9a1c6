import { canonicalJson } from "../../src/protocol/digest.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import type { DecisionBody } from "../../src/protocol/request-schema.ts";
import type { Call } from "../../src/protocol/thread.ts";
import type { Effect } from "./effects.ts";
import type { Post } from "./person.ts";
import { ALLOWED, ASKING, IDEMPOTENT } from "./script.ts";

/** What a person decided and what the tools did. */
export interface Deeds {
  readonly posts: readonly Post[];
  readonly effects: readonly Effect[];
}

/** What the person said about a call: last, and with which input. */
export function decided({ posts }: Pick<Deeds, "posts">, callId: string): Decided {
  const own = posts.flatMap(({ decisions }) => decisions).filter((decision) => decision.callId === callId);
  return { last: own.at(-1), edit: own.find(({ input }) => input !== undefined)?.input };
}

interface Decided {
  readonly last: DecisionBody | undefined;
  readonly edit: DecisionBody["input"];
}

/** Nothing denied ran, nothing ran twice or unasked, and what was to run did. */
export function wrongCalls(deeds: Deeds, events: readonly ThreadEvent[], calls: readonly Call[]): string[] {
  const unknown = deeds.effects.filter(({ callId }) => !calls.some((call) => call.callId === callId));
  return [
    ...unknown.map((effect) => `${effect.tool} ran for a call that the log does not have`),
    ...calls.flatMap((call) => {
      const own = events.filter((event) => "callId" in event && event.callId === call.callId);
      const effects = deeds.effects.filter(({ callId }) => callId === call.callId);
      const wrong = [
        ...wrongStarts(call, own),
        ...wrongCount(call, own, effects, decided(deeds, call.callId)),
        ...effects.flatMap((effect, index) => wrongEffect(effect, effects.slice(0, index))),
        ...wrongInput(call, effects, decided(deeds, call.callId)),
      ];
      return wrong.map((text) => `${call.tool} ${JSON.stringify(call.input)} ${text}`);
    }),
  ];
}

/** In log order: allowed or approved before it starts, by the very digest; never after a refusal or its end. */
function wrongStarts({ tool }: Call, own: readonly ThreadEvent[]): string[] {
  const wrong: string[] = [];
  const starts = own.filter((event) => event.type === "call-started");
  for (const { seq, attempt, digest } of starts) {
    const before = own.filter((event) => event.seq < seq);
    const decisions = before.filter((event) => event.type === "decision-recorded");
    const isRefused = decisions.some(({ action }) => ["deny", "skip", "expire"].includes(action));
    if (isRefused || before.some(({ type }) => type === "call-settled")) wrong.push("starts after its refusal");
    if (starts.some((other) => other.seq < seq && other.attempt >= attempt)) wrong.push("starts an attempt twice");
    if (ALLOWED.includes(tool)) continue;
    const approval = decisions.findLast(({ action }) => action === "approve");
    if (!approval) wrong.push("starts and nobody approved it");
    else if (digest !== (approval.newDigest ?? approval.digest)) wrong.push("starts as another call than was approved");
  }
  const retries = own.filter((event) => event.type === "decision-recorded" && event.action === "retry").length;
  if (!IDEMPOTENT.includes(tool) && starts.length > 1 + retries) wrong.push("is started again and nobody wanted it");
  return wrong;
}

function wrongCount(call: Call, own: readonly ThreadEvent[], effects: readonly Effect[], { last }: Decided): string[] {
  const wrong: string[] = [];
  const starts = own.filter((event) => event.type === "call-started");
  if (last?.action === "deny" && effects.length > 0) wrong.push("was denied and ran");
  if (effects.length > starts.length) wrong.push(`ran ${effects.length} times in ${starts.length} attempts`);
  const done = effects.filter(({ isRepeat }) => !isRepeat).length;
  if (IDEMPOTENT.includes(call.tool) && done > 1) wrong.push(`honours keys and had ${done} effects`);
  const isToRun = last === undefined || last.action === "approve" || last.action === "retry";
  if (!isToRun || ASKING.includes(call.tool)) return wrong;
  const ran = effects.some(({ attempt }) => attempt === starts.at(-1)?.attempt);
  if (call.status !== "succeeded" || !ran)
    wrong.push(`was to run: it is ${call.status} and ran ${effects.length} times`);
  return wrong;
}

function wrongEffect({ attempt, isLogged }: Effect, before: readonly Effect[]): string[] {
  return [
    ...(before.some((other) => other.attempt === attempt) ? [`ran twice in attempt ${attempt}`] : []),
    ...(isLogged ? [] : ["ran before its start was in the log"]),
  ];
}

/** A call's input is the model's until an approval puts the person's in its place. */
function wrongInput(call: Call, effects: readonly Effect[], { edit }: Decided): string[] {
  const allowed = canonicalJson(edit ?? call.input);
  return effects.flatMap(({ input }) =>
    canonicalJson(input) === allowed ? [] : [`ran with ${JSON.stringify(input)} instead of ${allowed}`],
  );
}
