import type { Tool } from "../agent/agent.ts";
import { parseWith, schemaFromJson } from "../agent/schema.ts";
import { ToolRunError } from "../errors.ts";
import { givenResult } from "../loop/given-result.ts";
import { inTime, RULE_MS } from "../loop/in-time.ts";
import { canonicalJson } from "../protocol/digest.ts";
import type { EventDraft } from "../protocol/event.ts";
import { effectSoFar } from "../protocol/read-thread.ts";
import type { Ask, Call, Run, Thread } from "../protocol/thread.ts";
import type { Json } from "../protocol/values.ts";
import type { Engine } from "./engine.ts";
import type { Taken } from "./recorded.ts";
import { recorded } from "./recorded.ts";
import { shownStep } from "./shown-step.ts";
import { toolOf } from "./tool-of.ts";
import type { Writer } from "./writer.ts";

const LATE = Symbol("late");

/** An answer to a question, a visited link, or what the browser came back with: checked before anything is recorded. */
export async function answerEvents(
  engine: Engine,
  thread: Thread,
  run: Run,
  call: Call,
  ask: Ask,
  writer: Writer,
  decision: Taken,
  via: "browser" | "code",
): Promise<readonly EventDraft[]> {
  const settled = { type: "call-settled", runId: run.runId, callId: call.callId } as const;
  if (decision.action === "skip") {
    return [
      recorded(run, call, writer, decision, via),
      { ...settled, outcome: "not-run", reason: "skipped", effect: effectSoFar(call) },
    ];
  }
  if (decision.action !== "answer") {
    throw new ToolRunError("not-waiting", `This step waits for an answer; it cannot take "${decision.action}".`, {
      step: shownStep(thread, call.callId),
    });
  }
  const { agent, tool } = await toolOf(engine, thread, run, call);
  if (decision.error !== undefined) {
    const error = { code: "failed", message: decision.error } as const;
    return [
      recorded(run, call, writer, decision, via),
      { ...settled, outcome: "failed", error, effect: effectSoFar(call) },
    ];
  }
  const value = await inTime(engine.clock, answerOf(tool, ask, givenValue(decision)), RULE_MS, LATE);
  if (value === LATE) throw new ToolRunError("unavailable", "The answer could not be checked in time; try again.");
  const record = recorded(run, call, writer, { ...decision, value }, via);
  // A tool that asked starts again with the answer; where the question was all there was, it is the result.
  if (!tool.answer) return [record];
  const toModel = givenResult(value, call, agent, engine.report);
  return [record, { ...settled, outcome: "succeeded", output: value, toModel }];
}

/** @throws `bad-request` for neither value nor error: what is missing must not count as an answer. */
function givenValue({ value }: Taken): Json {
  if (value !== undefined) return value;
  throw new ToolRunError("bad-request", "An answer needs a value or an error.");
}

/** @throws `invalid-input`, with issues: the step still waits. */
async function answerOf(tool: Tool, ask: Ask, value: Json): Promise<Json> {
  const schema = tool.answer?.schema ?? (ask.schema === undefined ? undefined : schemaFromJson(ask.schema));
  if (!schema && (ask.kind === "link" || typeof value === "string")) return value;
  if (!schema) throw new ToolRunError("invalid-input", "The answer to this question is a text.");
  let parsed: Awaited<ReturnType<typeof parseWith>>;
  try {
    parsed = await parseWith(await schema, value);
    if ("value" in parsed) return JSON.parse(canonicalJson(parsed.value)) as Json; // throws for what is not JSON
  } catch (cause) {
    throw new ToolRunError("invalid-input", "This answer could not be checked.", { cause });
  }
  throw new ToolRunError("invalid-input", "This answer does not fit the question.", { issues: parsed.issues });
}

/** An interrupted call: run it again, leave it, or say what came of it. */
export function resolveInterrupted(
  run: Run,
  call: Call,
  writer: Writer,
  decision: Taken,
  via: "browser" | "code",
): readonly EventDraft[] {
  const record = recorded(run, call, writer, decision, via);
  const settled = { type: "call-settled", runId: run.runId, callId: call.callId } as const;
  switch (decision.action) {
    case "retry":
      return [record];
    case "skip":
      return [record, { ...settled, outcome: "not-run", reason: "skipped", effect: "unknown" }];
    case "answer":
      if (decision.error !== undefined) {
        return [record, { ...settled, outcome: "failed", error: { code: "failed", message: decision.error } }];
      }
      return [record, { ...settled, outcome: "succeeded", output: givenValue(decision) }];
    default:
      throw new ToolRunError("not-waiting", 'This step was interrupted: it takes "retry", "skip" or "answer".');
  }
}
