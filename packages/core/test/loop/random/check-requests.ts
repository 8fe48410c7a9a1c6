import { checkPairing } from "../../../src/model/check-pairing.ts";
import type { ModelMessage, ToolResult } from "../../../src/model/model.ts";
import { wireToolName } from "../../../src/model/tool-name.ts";
import { canonicalJson } from "../../../src/protocol/digest.ts";
import type { Asked } from "./check-turns.ts";
import type { CallFacts, LogFacts, RunFacts } from "./log-facts.ts";
import { HOOKED } from "./planned-rules.ts";
import { sameJson } from "./same-json.ts";
import type { Fail } from "./violation.ts";

/** What each request told the model, against the log at that moment. */
export function checkRequests(asked: readonly Asked[], log: LogFacts, fail: Fail): void {
  for (const each of asked) {
    const { start, call } = each;
    const failHere: Fail = (invariant, message) =>
      fail(invariant, `the request of turn ${start.turn}.${start.attempt} of ${start.runId}: ${message}`);
    const { messages, tools } = call.request;
    if (call.aborted) failHere("refused", "its signal is over before it begins");
    const { beforeModel } = call.agent.hooks;
    if (beforeModel === "note" && last(messages) !== HOOKED) failHere("told", "the hook's note is missing");
    if (["unpaired", "throws", "slow-throws", "hangs"].includes(beforeModel)) failHere("told", "its hook failed");
    try {
      checkPairing(messages);
    } catch (error) {
      failHere("paired", String(error));
    }
    checkPairs(messages, failHere);
    if (call.agent.history === "whole") {
      checkHistory(each, log, failHere);
      checkPeople(each, log, failHere);
    } else checkShortened(each, log, failHere);
    const off = start.toolsOff === true || call.agent.tools.length === 0;
    if (off !== (tools.length === 0)) failHere("limits", `it has ${tools.length} tools`);
  }
}

function last(messages: readonly ModelMessage[]): string {
  const message = messages.at(-1);
  return message?.role === "user" ? textOf(message) : "";
}

/** The rule of every provider, read once more without the code that is under test. */
function checkPairs(messages: readonly ModelMessage[], fail: Fail): void {
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const before = messages[index - 1];
    const open = before?.role === "assistant" ? callsOf(before).map(({ id }) => id) : [];
    const given = message.role === "tool" ? message.results.map(({ id }) => id) : [];
    if (JSON.stringify(open) !== JSON.stringify(given)) fail("paired", `calls ${open} have the results ${given}`);
    if (message.role === "assistant" && message.parts.length === 0) fail("paired", "an answer without parts");
    for (const { id, name } of callsOf(message)) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) fail("paired", `no provider takes the name "${name}"`);
      if (ids.has(id)) fail("paired", `the id ${id} is used twice`);
      ids.add(id);
    }
  }
  const last = messages.at(-1);
  if (last && callsOf(last).length > 0) fail("paired", "the last calls have no results");
}

function callsOf(
  message: ModelMessage,
): readonly { readonly id: string; readonly name: string; readonly inputText: string }[] {
  return message.role === "assistant" ? message.parts.flatMap((part) => (part.type === "call" ? [part] : [])) : [];
}

/** All calls of all ended turns the run may know, each with the result the log holds. */
function checkHistory({ start, run, call }: Asked, log: LogFacts, fail: Fail): void {
  const known = callsBefore(log, run, start.seq);
  const { messages } = call.request;
  const calls = messages.flatMap(callsOf);
  const results = messages.flatMap((message): readonly ToolResult[] =>
    message.role === "tool" ? message.results : [],
  );
  if (calls.length !== known.length) {
    fail("told", `it has ${calls.length} calls, the log ${known.length}`);
    return;
  }
  for (const [index, facts] of known.entries()) {
    const [part, result] = [calls[index], results[index]];
    const { ready, settled } = facts;
    if (part?.name !== wireToolName(ready.tool)) fail("told", `call ${index} is ${part?.name}, not ${ready.tool}`);
    if (part?.inputText !== (ready.inputText ?? canonicalJson(ready.input)))
      fail("told", `call ${index} has other input`);
    if (!settled || settled.seq > start.seq) fail("told", `call ${index} is told and not settled`);
    else checkResult(index, facts, result, fail);
  }
}

/** Of a shortened history: its calls are the last ones, and what the person said last is still there. */
function checkShortened({ start, run, call }: Asked, log: LogFacts, fail: Fail): void {
  const calls = call.request.messages.flatMap(callsOf);
  const known = callsBefore(log, run, start.seq).slice(-calls.length || Number.POSITIVE_INFINITY);
  for (const [index, { inputText }] of calls.entries()) {
    const ready = known[index]?.ready;
    if (!ready || inputText !== (ready.inputText ?? canonicalJson(ready.input)))
      fail("told", `call ${index} is another one`);
  }
  if (run.started.depth > 0) return;
  const said = log.events.findLast((event) => event.type === "message-added" && event.seq < start.seq);
  const told = call.request.messages.some(
    (message) => message.role === "user" && said && "parts" in said && textOf(message) === textOf(said),
  );
  if (!told) fail("told", "what the person said last is left out");
}

function callsBefore(log: LogFacts, run: RunFacts, seq: number): readonly CallFacts[] {
  const child = run.started.depth > 0;
  return [...log.calls.values()].filter(({ ready, run: of }) => {
    if (ready.seq > seq) return false;
    return child ? of === run : of.started.depth === 0;
  });
}

function checkResult(index: number, facts: CallFacts, result: ToolResult | undefined, fail: Fail): void {
  const { settled, ready } = facts;
  const bad = settled?.outcome !== "succeeded";
  if (result?.isError !== bad) fail("told", `result ${index} is ${bad ? "an error" : "no error"}, and told otherwise`);
  const edited = !sameJson(facts.input, ready.input);
  if (bad || edited) return;
  const expected = settled.toModel === undefined ? (settled.output ?? null) : settled.toModel;
  if (JSON.stringify(result?.output) !== JSON.stringify(expected)) fail("told", `result ${index} is not the log's`);
}

/** Every message of a person that was there, in order, and this turn's note. */
function checkPeople({ start, run, turn, call }: Asked, log: LogFacts, fail: Fail): void {
  const said = call.request.messages.flatMap((message) => (message.role === "user" ? [textOf(message)] : []));
  const texts = said.filter((text) => text !== HOOKED);
  if (run.started.depth === 0) {
    const wanted = log.events.flatMap((event) =>
      event.type === "message-added" && event.seq < start.seq ? [textOf(event)] : [],
    );
    const told = texts.filter((text) => !text.startsWith("[Note from the app"));
    if (JSON.stringify(told) !== JSON.stringify(wanted)) fail("told", `it has the messages ${told}, not ${wanted}`);
  } else if (said[0] === undefined) fail("told", "a sub-agent has no task");
  if (call.request.messages[0]?.role !== "system") fail("told", "it has no instructions");
  if (start.note && !texts.some((text) => text.endsWith(start.note ?? ""))) fail("told", "its note is missing");
  const before = run.turns.find((other) => other.turn === turn.turn - 1);
  const denied = before?.calls.some((each) => isDenied(each)) ?? false;
  const end = texts.at(-1) ?? "";
  if (denied !== end.includes("denied a call")) fail("told", `denied: ${denied}, told: ${end}`);
}

/** A person refused to let it run; a question that nobody wants to answer is something else. */
function isDenied({ settled, asked }: CallFacts): boolean {
  return settled?.outcome === "not-run" && settled.reason === "denied" && asked.at(-1)?.kind === "approval";
}

function textOf({ parts }: { readonly parts: readonly { readonly type: string; readonly text?: string }[] }): string {
  return parts.map((part) => part.text ?? "").join("");
}
