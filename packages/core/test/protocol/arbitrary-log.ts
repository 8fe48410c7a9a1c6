import fc from "fast-check";
import type { EventBody, EventType, ThreadEvent } from "../../src/protocol/event.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/event.ts";
import type { LegalLog } from "./legal-log.ts";
import { legalLog } from "./legal-log.ts";

/** Runs of a property: more where the long tests are asked for. */
export const RUNS: number = process.env.TOOLRUN_LONG === "1" ? 20_000 : 250;

/** Logs that obey the protocol. */
export const legalLogs: fc.Arbitrary<LegalLog> = fc
  .array(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 150, size: "max" })
  .map((choices) => legalLog(choices));

const text = fc.constantFrom("", "a", "Hello", "é\u0000\ud800", "__proto__");
const run = fc.constantFrom("r1", "r2", "r3");
const call = fc.constantFrom("c1", "c2", "c3", "c4");
const small = fc.integer({ min: 1, max: 3 });
const at = fc.integer({ min: 0, max: 1000 });
const by = fc.record({ id: fc.constantFrom("ana", "ben") });
const digest = fc.constantFrom("d1", "d2");
const key = { key: fc.constantFrom("", "k1", "k2"), bodyHash: fc.constantFrom("", "h1") };
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const scope = fc.constantFrom("once", "run", "thread");
const grantId = fc.constantFrom("g-c1", "g-c2");
const limit = fc.constantFrom("turns", "calls", "time");
const usage = fc.record({ inputTokens: fc.nat(9), outputTokens: fc.nat(9) }, { requiredKeys: [] });
const error = fc.record({ code: fc.constantFrom("tool-error", "timed-out"), message: text });
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const terms = fc.record({ label: maybe(text), uses: maybe(small), forMs: maybe(small) });

/** The fields of every kind, each with values that meet in tests. */
const fields: { readonly [Type in EventType]: Record<string, fc.Arbitrary<unknown>> } = {
  "thread-created": { owner: text, agent: text, title: text },
  "thread-renamed": { title: text, by, ...key },
  "message-added": {
    messageId: fc.constantFrom("m1", "m2"),
    parts: fc.array(fc.record({ type: fc.constant("text"), text }), { maxLength: 2 }),
    by,
    ...key,
  },
  "run-started": {
    trigger: fc.constantFrom("message", "call", "continue"),
    depth: fc.constantFrom(0, 0, 1),
    parentCallId: maybe(call),
    agentVersion: text,
    user: maybe(json),
    driverId: maybe(text),
    continues: maybe(run),
  },
  "run-resumed": { driverId: text, why: fc.constantFrom("decision", "takeover", "hand-over", "continue") },
  "run-waiting": { for: fc.array(call, { maxLength: 2 }), dueAt: maybe(at) },
  "run-handed-over": { why: fc.constantFrom("budget", "shutdown"), dueAt: maybe(at) },
  "stop-requested": { by, reason: maybe(text), ...key },
  "run-ended": {
    outcome: fc.constantFrom("completed", "limited", "stopped", "failed"),
    limit: maybe(limit),
    code: maybe(text),
    text,
    usage,
  },
  "turn-started": { turn: small, attempt: small, model: text, toolsOff: maybe(fc.boolean()), note: maybe(text) },
  "text-added": { turn: small, attempt: small, kind: maybe(fc.constant("reasoning")), text },
  "part-added": {
    turn: small,
    attempt: small,
    part: fc.record({ type: fc.constant("file"), url: text, mediaType: text }),
  },
  "turn-ended": {
    turn: small,
    attempt: small,
    finishReason: text,
    usage: maybe(usage),
    opaque: maybe(fc.array(fc.record({ origin: text, data: json }), { maxLength: 1 })),
  },
  "call-proposed": { callId: call, turn: small, attempt: small, name: text },
  "call-input-added": { callId: call, text },
  "call-ready": {
    callId: call,
    turn: small,
    tool: text,
    title: maybe(text),
    summary: maybe(text),
    input: json,
    inputText: maybe(text),
    providerId: maybe(text),
    toolHash: text,
    salt: text,
    digest,
    destructive: maybe(fc.boolean()),
  },
  "call-judged": {
    callId: call,
    verdict: fc.constantFrom("allow", "ask", "deny", "modify"),
    by: fc.constantFrom("policy", "tool", "grant", "default"),
    digest,
    input: maybe(json),
    reason: maybe(text),
    grantId: maybe(text),
  },
  "decision-requested": {
    callId: call,
    kind: fc.constantFrom("approval", "question", "link", "browser"),
    digest,
    prompt: maybe(text),
    schema: maybe(json),
    url: maybe(text),
    editable: maybe(fc.oneof(fc.boolean(), fc.array(text, { maxLength: 1 }))),
    scopes: maybe(fc.array(scope, { maxLength: 2 })),
    grant: maybe(terms),
    grantKey: maybe(text),
    reason: maybe(text),
    denied: maybe(fc.record({ by: maybe(by), at, reason: maybe(text) })),
    expiresAt: maybe(at),
    extendMs: maybe(small),
  },
  "decision-extended": { callId: call, digest, expiresAt: at, by, via: fc.constantFrom("browser", "code"), ...key },
  "decision-recorded": {
    callId: call,
    action: fc.constantFrom("approve", "deny", "answer", "retry", "skip", "expire"),
    by: maybe(by),
    via: fc.constantFrom("browser", "code", "clock"),
    digest,
    input: maybe(json),
    newDigest: maybe(digest),
    value: maybe(json),
    error: maybe(text),
    reason: maybe(text),
    scope: maybe(scope),
    grant: maybe(terms),
    grantKey: maybe(text),
    grantId: maybe(grantId),
    stop: maybe(fc.boolean()),
    ...key,
  },
  "turn-judged": { turn: small, verdict: fc.constantFrom("pass", "stop", "again", "failed"), reason: maybe(text) },
  "grant-revoked": { grantId, by, ...key },
  "call-started": { callId: call, attempt: small, digest, key: text },
  "call-progressed": {
    callId: call,
    attempt: small,
    value: maybe(fc.nat(9)),
    max: maybe(fc.nat(9)),
    label: maybe(text),
    log: maybe(fc.array(text, { maxLength: 2 })),
    partial: maybe(json),
  },
  "attempt-failed": { callId: maybe(call), turn: maybe(small), attempt: small, error, retryAt: maybe(at) },
  "call-interrupted": { callId: call, attempt: small },
  "call-settled": {
    callId: call,
    attempt: maybe(small),
    outcome: fc.constantFrom("succeeded", "failed", "not-run"),
    output: maybe(json),
    toModel: maybe(json),
    error: maybe(error),
    reason: maybe(fc.constantFrom("denied", "expired", "stopped", "skipped", "blocked")),
    effect: maybe(fc.constantFrom("unknown", "none")),
    late: maybe(fc.boolean()),
  },
  "limit-reached": { limit, count: fc.nat(9), follows: fc.constantFrom("answer", "stop", "note", "warn") },
};

/** Every kind of event. */
export const EVENT_TYPES: readonly EventType[] = Object.keys(fields) as EventType[]; // the record has exactly these

/** A well-formed event of one kind, without undefined fields, at seq 1. */
export function eventsOfType(type: EventType): fc.Arbitrary<ThreadEvent> {
  const envelope = {
    seq: fc.constant(1),
    at,
    v: fc.constant(PROTOCOL_VERSION),
    runId: maybe(run),
    epoch: maybe(small),
  };
  return fc
    .record({ ...envelope, ...fields[type] })
    .map((event) => ({ ...JSON.parse(JSON.stringify(event)), type }) as ThreadEvent & EventBody); // fields are typed by hand
}

const anyEvent = fc.oneof(...EVENT_TYPES.map(eventsOfType));

/** Kinds and versions of newer code. */
const unknownEvent: fc.Arbitrary<ThreadEvent> = fc
  .record({ type: fc.constantFrom("run-forked", "", "toString"), at, v: fc.constantFrom(1, 2), runId: maybe(run) })
  .map((event) => ({ ...event, seq: 1 }) as unknown as ThreadEvent); // what the reducer must pass over

function numbered(events: readonly ThreadEvent[]): readonly ThreadEvent[] {
  return events.map((event, index) => ({ ...event, seq: index + 1 }));
}

const anything = fc
  .array(fc.oneof({ weight: 40, arbitrary: anyEvent }, unknownEvent), { maxLength: 80, size: "max" })
  .map(numbered);

/** A legal log with events dropped, doubled and moved. */
const damaged = fc
  .tuple(
    legalLogs,
    fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom("drop", "double", "move")), { maxLength: 20 }),
  )
  .map(([{ events }, damages]) => {
    const list = [...events];
    for (const [from, to, how] of damages) {
      const [event] = how === "double" ? list.slice(from % list.length) : list.splice(from % list.length, 1);
      if (event && how !== "drop") list.splice(to % (list.length + 1), 0, event);
      if (list.length === 0) break;
    }
    return numbered(list);
  });

/** Well-formed events in orders that no writer produces. */
export const garbageLogs: fc.Arbitrary<readonly ThreadEvent[]> = fc.oneof(anything, damaged);
