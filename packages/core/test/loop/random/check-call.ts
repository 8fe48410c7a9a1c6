import type { Json } from "../../../src/protocol/values.ts";
import type { CallFacts, EventOf, LogFacts, OpenAsk } from "./log-facts.ts";
import { callsOf, openCalls } from "./log-facts.ts";
import type { Fail } from "./violation.ts";

const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  approval: ["approve", "deny", "expire"],
  question: ["answer", "deny", "skip", "expire"],
  link: ["answer", "deny", "skip", "expire"],
  browser: ["answer", "deny", "skip", "expire"],
  interrupted: ["retry", "skip", "answer", "deny"],
};

/** A decision answers the open question, in time, in a way it can be answered. */
export function checkDecision(event: EventOf<"decision-recorded">, call: CallFacts, fail: Fail): void {
  const { ask } = call;
  call.ask = undefined;
  call.decisions.push(event);
  if (!ask) {
    fail("approved", "a decision, and nobody asked");
    return;
  }
  if (event.action === "deny" && ask.kind === "approval") call.denied = event;
  if (event.digest !== ask.digest) fail("approved", "a decision about another step than shown");
  if (!ANSWERS[ask.kind]?.includes(event.action)) fail("approved", `${event.action} is no answer to ${ask.kind}`);
  const over = ask.expiresAt !== undefined && ask.expiresAt <= event.at;
  if (over !== (event.action === "expire"))
    fail("refused", `${event.action} when the time is ${over ? "" : "not "}over`);
  if (event.newDigest !== undefined) call.digest = event.newDigest;
  if (event.input !== undefined) call.input = event.input;
  if (["deny", "expire", "skip"].includes(event.action)) call.refused = `"${event.action}"`;
  if (event.action === "answer" && ask.kind !== "interrupted") checkAnswer(event, call, ask, fail);
}

/** Only answers that fit their schema are in the log. */
function checkAnswer(event: EventOf<"decision-recorded">, { plan }: CallFacts, ask: OpenAsk, fail: Fail): void {
  const { value, error } = event;
  if (error !== undefined) return;
  const never = plan && "answer" in plan && (plan.answer === "throws" || plan.answer === "hangs");
  if (never || !fits(value, ask)) fail("approved", `${JSON.stringify(value)} answers ${JSON.stringify(ask.schema)}`);
}

function fits(value: Json | undefined, { kind, schema }: OpenAsk): boolean {
  if (schema === undefined) return kind === "link" || typeof value === "string";
  if (typeof schema === "object" && schema !== null && "properties" in schema) return hasAmount(value);
  const isText = typeof schema === "object" && schema !== null && "type" in schema && schema.type === "string";
  return !isText || typeof value === "string";
}

function hasAmount(value: unknown): boolean {
  return typeof value === "object" && value !== null && "amount" in value && typeof value.amount === "number";
}

/** A settlement says what happened. */
export function checkSettlement(event: EventOf<"call-settled">, call: CallFacts, fail: Fail): void {
  const ran = call.starts.length > 0;
  const last = call.decisions.at(-1);
  const answered = last?.action === "answer";
  if (event.outcome === "succeeded" && !ran && !answered) fail("settles", "it succeeded and never ran");
  if (event.outcome === "succeeded" && call.refused !== undefined)
    fail("settles", `it succeeded after ${call.refused}`);
  // A tool that asks has done nothing yet: what nobody answers, or what is not started again, was not run.
  const asked = call.asked.some(({ kind }) => kind === "question" || kind === "link");
  if (event.outcome === "not-run" && ran && event.effect !== "unknown" && !asked)
    fail("settles", "it ran, and says no");
  if (event.late && !call.interrupted) fail("settles", "late, and nobody had given it up");
  const { child } = call;
  if (!child) return;
  const { ended } = child;
  if (!ended) {
    fail("settles", "settled before its sub-agent ended");
    return;
  }
  if (ended.outcome === "completed" && (event.outcome !== "succeeded" || event.output !== ended.text))
    fail("settles", `its sub-agent said "${ended.text}", its result is ${JSON.stringify(event.output)}`);
  if (ended.outcome !== "completed" && ended.text === "" && event.outcome === "succeeded")
    fail("settles", "it succeeded, and its sub-agent did not");
}

/** A run waits only when nothing else can be done, and for exactly those who are asked. */
export function checkWaiting(log: LogFacts, event: EventOf<"run-waiting">, fail: Fail): void {
  const open = openCalls(log);
  const asked = open.filter((call) => call.ask).map((call) => call.ready.callId);
  if (asked.length === 0) fail("waits", "nobody is asked");
  if (JSON.stringify([...event.for].sort()) !== JSON.stringify([...asked].sort())) {
    fail("waits", `it waits for ${event.for}; open are ${asked}`);
  }
  if (open.some((call) => (call.running && !isParent(call)) || (call.retryAt !== undefined && hasRoom(call)))) {
    fail("waits", "a call runs meanwhile, or could");
  }
  for (const run of log.runs.values()) {
    if (!run.ended && run.turns.at(-1)?.open) fail("waits", "the model is asked meanwhile");
  }
  const due = open.flatMap((call) => call.ask?.expiresAt ?? []);
  if (event.dueAt !== (due.length > 0 ? Math.min(...due) : undefined)) fail("waits", `due at ${event.dueAt}`);
}

/** Nothing else of its run keeps it from starting. */
function hasRoom(call: CallFacts): boolean {
  const { plan } = call.run;
  const busy = callsOf(call.run).filter((other) => other.running);
  const alone = [call, ...busy].some((each) => each.plan?.kind === "server" && each.plan.sequential);
  return busy.length < plan.concurrency && (!alone || busy.length === 0);
}

/** It waits for its sub-agent, which waits for a person. */
function isParent({ child }: CallFacts): boolean {
  return child !== undefined && !child.ended;
}
