import type { Agent } from "../agent/agent.ts";
import { checkInput } from "../agent/check-call.ts";
import { judgeCall, keyOf, termsOf } from "../agent/judge-call.ts";
import { ToolRunError } from "../errors.ts";
import { inTime, RULE_MS } from "../loop/in-time.ts";
import { expireEvents } from "../loop/intents.ts";
import { canonicalJson, digestCall } from "../protocol/digest.ts";
import type { EventDraft } from "../protocol/event.ts";
import { findCall } from "../protocol/read-thread.ts";
import type { DecisionBody } from "../protocol/request-schema.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import { isSettled, openAsk, rootOf } from "../protocol/thread.ts";
import type { GrantTerms, Json } from "../protocol/values.ts";
import { answerEvents, resolveInterrupted } from "./answer.ts";
import { coveredSteps } from "./covered-steps.ts";
import { denyEvents } from "./deny.ts";
import type { Engine } from "./engine.ts";
import { extendEvents } from "./extend.ts";
import type { Taken } from "./recorded.ts";
import { recorded } from "./recorded.ts";
import { shownStep } from "./shown-step.ts";
import { sealAll } from "./thread-log.ts";
import { toolOf, userOf } from "./tool-of.ts";
import { writeThread } from "./write.ts";
import type { Writer } from "./writer.ts";
import { landedAt, replayed } from "./writer.ts";

/** What became of one decision of a post. */
export type DecisionResult =
  | { readonly callId: string; readonly ok: true }
  | { readonly callId: string; readonly ok: false; readonly error: ToolRunError };

export interface DecisionAnswer {
  readonly seq: number;
  readonly results: readonly DecisionResult[];
}

/**
 * Records decisions: per call, in any grouping, all valid ones in one append. First valid decision wins;
 * every refusal says the real state. The browser sends ids, a digest and its decision; what runs is what
 * the log holds.
 */
export function decide(
  engine: Engine,
  threadId: string,
  writer: Writer,
  decisions: readonly DecisionBody[],
  via: "browser" | "code",
): Promise<DecisionAnswer> {
  if (new Set(decisions.map(({ callId }) => callId)).size < decisions.length) {
    throw new ToolRunError("bad-request", "One request can decide about a step once.");
  }
  return writeThread(engine, threadId, async (thread, now) => {
    const record = replayed(thread, writer);
    const drafts: EventDraft[] = [];
    const results: DecisionResult[] = [];
    let current = thread;
    for (const decision of decisions) {
      if (record && wasRecorded(thread, writer, decision)) {
        results.push({ callId: decision.callId, ok: true });
        continue;
      }
      const { callId } = decision;
      try {
        const added = await decideOne(engine, current, writer, decision, via, now);
        current = sealAll(current, added.drafts, now).thread;
        drafts.push(...added.drafts);
        const siblings = coveredSteps(current, callId, decisions, writer, via, now);
        current = sealAll(current, siblings, now).thread;
        drafts.push(...siblings);
        results.push(added.isOver ? { callId, ok: false, error: over(current, callId) } : { callId, ok: true });
      } catch (error) {
        if (!(error instanceof ToolRunError)) throw error;
        results.push({ callId, ok: false, error });
      }
    }
    return { drafts, answer: (seq, after) => ({ seq: landedAt(after, writer) ?? seq, results }) };
  });
}

/**
 * The same post again: this decision counted. Asked by its key, because the call itself may be interrupted since:
 * one wish to try again must never start two more attempts.
 */
function wasRecorded(thread: Thread, { user, key }: Writer, { callId }: DecisionBody): boolean {
  return thread.keys.some((known) => known.key === key && known.userId === user.id && known.callId === callId);
}

interface Decided {
  readonly drafts: readonly EventDraft[];
  /** Not the decision is recorded, but that it came too late. */
  readonly isOver?: boolean | undefined;
}

async function decideOne(
  engine: Engine,
  thread: Thread,
  writer: Writer,
  { action, ...rest }: DecisionBody,
  via: "browser" | "code",
  now: number,
): Promise<Decided> {
  const found = findCall(thread, rest.callId);
  if (!found) throw new ToolRunError("not-found", "There is no such step in this conversation.");
  const { run, call } = found;
  const step = shownStep(thread, rest.callId);
  const ask = openAsk(call);
  if (!ask) throw closed(call, step);
  if (rootOf(thread)?.stop) throw new ToolRunError("stopped", "The run was stopped; this was not run.", { step });
  if (ask.expiresAt !== undefined && ask.expiresAt <= now) {
    return { drafts: expireEvents(run, call), isOver: true };
  }
  if (rest.digest !== ask.digest) {
    throw new ToolRunError("stale", "This is not the step that was shown; look at it again and decide.", { step });
  }
  if (action === "extend") return { drafts: extendEvents(run, call, ask, writer, { via, now, step }) };
  const decision = { ...rest, action };
  if (action === "deny") return { drafts: denyEvents(run, call, writer, { ...decision, via }) };
  if (ask.kind === "interrupted") return { drafts: resolveInterrupted(run, call, writer, decision, via) };
  if (ask.kind !== "approval")
    return { drafts: await answerEvents(engine, thread, run, call, ask, writer, decision, via) };
  if (action !== "approve") {
    throw new ToolRunError("not-waiting", `This step waits for an approval; it cannot take "${action}".`, {
      step,
    });
  }
  return { drafts: await approveEvents(engine, thread, run, call, writer, decision, via) };
}

/** What comes too late hears of the step as it is now that its end is in the log. */
function over(thread: Thread, callId: string): ToolRunError {
  return new ToolRunError("expired", "The time to decide is over; this was not run.", {
    step: shownStep(thread, callId),
  });
}

/** Why a step takes no decision any more: who, what, when are in its `step`. */
function closed(call: Call, step: unknown): ToolRunError {
  if (call.decision?.action === "expire" || call.reason === "expired") {
    return new ToolRunError("expired", "The time to decide was over; this was not run.", { step });
  }
  if (call.decision) return new ToolRunError("decided", "Somebody decided this already.", { step });
  if (call.reason === "stopped") return new ToolRunError("stopped", "The run was stopped; this was not run.", { step });
  const message = isSettled(call) ? "This step is over; nothing waits for a decision." : "This step waits for nobody.";
  return new ToolRunError("not-waiting", message, { step });
}

const LATE = Symbol("late");

async function approveEvents(
  engine: Engine,
  thread: Thread,
  run: Run,
  call: Call,
  writer: Writer,
  decision: Taken,
  via: "browser" | "code",
): Promise<readonly EventDraft[]> {
  const { agent } = await toolOf(engine, thread, run, call);
  if (decision.scope && !(call.ask?.scopes ?? ["once"]).includes(decision.scope)) {
    throw new ToolRunError("bad-request", `An approval of this step cannot cover "${decision.scope}".`);
  }
  const edited =
    decision.input === undefined
      ? undefined
      : await inTime(engine.clock, editedInput(engine, agent, thread, run, call, decision.input), RULE_MS, LATE);
  if (edited === LATE)
    throw new ToolRunError("unavailable", "The rule for this tool did not answer in time; try again.");
  if (decision.scope && edited?.scopes && !edited.scopes.includes(decision.scope)) {
    throw new ToolRunError("bad-request", `An approval of this input cannot cover "${decision.scope}".`);
  }
  const { toolHash = "", salt = "" } = call;
  const newDigest =
    edited === undefined ? undefined : digestCall({ tool: call.tool, toolHash, input: edited.input, salt });
  const { input, grant, grantKey } = edited ?? {};
  return [{ ...recorded(run, call, writer, decision, via), input, newDigest, grant, grantKey }];
}

interface Edited {
  readonly input: Json;
  readonly scopes?: readonly string[] | undefined;
  readonly grant: GrantTerms | undefined;
  readonly grantKey: string | undefined;
}

/** An edit is a full replacement: parsed, within what may be edited, and judged again (it cannot escape a deny). */
async function editedInput(
  engine: Engine,
  agent: Agent,
  thread: Thread,
  run: Run,
  call: Call,
  input: Json,
): Promise<Edited | undefined> {
  const checked = await checkInput(agent, call.tool, input);
  if (!checked.ok) {
    throw new ToolRunError("invalid-input", checked.error.message, { issues: checked.error.issues });
  }
  const again = await checkInput(agent, call.tool, checked.input);
  if (!again.ok || again.canonical !== checked.canonical) {
    const message =
      "This tool's schema changes its input each time it reads it, so an edit cannot be shown as it would run.";
    throw new ToolRunError("invalid-input", message);
  }
  if (checked.canonical === canonicalJson(call.input)) return undefined;
  checkEditable(call, checked.input);
  const context = { user: userOf(thread), threadId: thread.id, runId: run.runId };
  const verdict = await judgeCall(agent, checked.tool, { callId: call.callId, input: checked.input }, context);
  if (verdict.verdict === "deny") {
    const reference = verdict.failure === undefined ? undefined : engine.report(verdict.failure);
    throw new ToolRunError("forbidden", verdict.reason ?? "This input is not allowed.", { reference });
  }
  if (verdict.modified !== undefined && !(await isSame(agent, call, checked.canonical, verdict.modified))) {
    throw new ToolRunError("forbidden", "The app's policy would change this input, so it is not allowed as it is.");
  }
  const { ask = {} } = verdict;
  return { input: checked.input, scopes: ask.scopes, grant: termsOf(ask), grantKey: keyOf(ask) };
}

async function isSame(agent: Agent, call: Call, canonical: string, modified: Json): Promise<boolean> {
  const checked = await checkInput(agent, call.tool, modified);
  return checked.ok && checked.canonical === canonical;
}

function checkEditable(call: Call, input: Json): void {
  const editable = call.ask?.editable ?? false;
  if (editable === true) return;
  const allowed = editable === false ? [] : editable;
  const before = asRecord(call.input);
  const after = asRecord(input);
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => own(before, name) !== own(after, name),
  );
  const forbidden = changed.filter((name) => !allowed.includes(name));
  if (forbidden.length === 0 && changed.length > 0) return;
  const issues = forbidden.map((name) => ({ path: [name], message: "may not be changed" }));
  throw new ToolRunError("invalid-input", "This part of the input may not be changed.", { issues });
}

function own(record: { readonly [key: string]: Json }, name: string): string | undefined {
  return Object.hasOwn(record, name) ? canonicalJson(record[name]) : undefined;
}

function asRecord(value: Json): { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as { [key: string]: Json }) : {}; // neither null nor a list
}
