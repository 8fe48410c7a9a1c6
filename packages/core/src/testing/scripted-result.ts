import {
  INPUT_CHANGED,
  INTERRUPTED,
  NO_ANSWER,
  NO_ANSWER_BECAUSE,
  NOT_RUN,
  NOT_RUN_BECAUSE,
} from "../model/call-result.ts";
import type { AssistantPart, ModelMessage, ToolResult } from "../model/model.ts";
import { NOTE_PREFIX, RUN_BOUNDARY } from "../model/prompt.ts";
import type { Json, NotRunReason } from "../protocol/values.ts";

/** The result of one call, as the model was told. */
export interface ScriptedResult {
  readonly tool: string;
  readonly status: "succeeded" | "failed" | "not-run";
  /** The input as the model wrote it. */
  readonly input: Json;
  /** The input that ran, where somebody changed it, and who did. */
  readonly changedInput?: Json | undefined;
  readonly changedBy?: "person" | "policy" | undefined;
  /** Of a call that succeeded. */
  readonly output?: Json | undefined;
  /** Of a call that was not run. */
  readonly reason?: NotRunReason | "interrupted" | undefined;
  /** The words of who refused it, if there were any. */
  readonly words?: string | undefined;
  /** Of a call that failed. */
  readonly error?: string | undefined;
}

/** What a script can see of a request. */
export interface ScriptedConversation {
  /** Results of this run so far, in call order. */
  readonly results: readonly ScriptedResult[];
  /** What a person said last. */
  readonly lastUserText: string;
}

/** Reads a history the way a model does; notes of the app are not taken for words of the person. */
export function readConversation(messages: readonly ModelMessage[]): ScriptedConversation {
  let results: ScriptedResult[] = [];
  let lastUserText = "";
  let calls: readonly AssistantPart[] = [];
  let inRun = false; // a message right after tool results steers a run, any other starts one
  for (const message of messages) {
    if (message.role === "assistant") {
      calls = message.parts;
      inRun = false;
    } else if (message.role === "tool") {
      results.push(...message.results.map((result) => readResult(result, calls)));
      inRun = true;
    } else if (message.role === "user") {
      const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      if (text.startsWith(RUN_BOUNDARY)) results = [];
      if (text.startsWith(NOTE_PREFIX)) continue;
      if (!inRun) results = [];
      lastUserText = text;
    }
  }
  return { results, lastUserText };
}

function readResult(result: ToolResult, parts: readonly AssistantPart[]): ScriptedResult {
  const call = parts.find((part) => part.type === "call" && part.id === result.id);
  const input = call?.type === "call" ? parsed(call.inputText) : null;
  const change = changeOf(result.output);
  const value = change ? change.value : result.output;
  const base = { tool: result.name, input, ...(change && { changedInput: change.input, changedBy: change.by }) };
  if (!result.isError) return { ...base, status: "succeeded", output: value };
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.startsWith(INTERRUPTED)) return { ...base, status: "not-run", reason: "interrupted" };
  if (text.startsWith(NOT_RUN))
    return { ...base, status: "not-run", ...reasonOf(text.slice(NOT_RUN.length + 2), NOT_RUN_BECAUSE) };
  if (text.startsWith(NO_ANSWER))
    return { ...base, status: "not-run", ...reasonOf(text.slice(NO_ANSWER.length + 2), NO_ANSWER_BECAUSE) };
  return { ...base, status: "failed", error: text };
}

function reasonOf(
  text: string,
  words: Readonly<Record<NotRunReason, string>>,
): Pick<ScriptedResult, "reason" | "words"> {
  for (const reason of Object.keys(words) as NotRunReason[]) {
    // the record's keys are exactly the reasons
    const because = words[reason];
    if (text === because) return { reason };
    if (text.startsWith(`${because}: `)) return { reason, words: text.slice(because.length + 2) };
  }
  return {};
}

function changeOf(output: Json): { by: "person" | "policy"; input: Json; value: Json } | undefined {
  if (typeof output !== "object" || output === null || !("note" in output) || !("input" in output)) return undefined;
  const by =
    output.note === INPUT_CHANGED.person ? "person" : output.note === INPUT_CHANGED.policy ? "policy" : undefined;
  const { input = null, output: succeeded, error: failed } = output;
  return by && { by, input, value: succeeded ?? failed ?? null };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
