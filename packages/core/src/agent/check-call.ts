import type { Issue } from "../errors.ts";
import { isToolRunError } from "../errors.ts";
import { inexactMessage, inexactNumber } from "../model/exact-json.ts";
import { canonicalJson } from "../protocol/digest.ts";
import type { Json, StepError } from "../protocol/values.ts";
import { isJson } from "../protocol/values-schema.ts";
import type { Agent, AgentTool } from "./agent.ts";
import { parseWith } from "./schema.ts";

/** At most this much text may be a call's arguments. */
export const MAX_INPUT_CHARS: number = 256 * 1024;

/** A call that may be judged and run, or why it can be neither. */
export type CheckedCall =
  | { readonly ok: true; readonly tool: AgentTool; readonly input: Json; readonly canonical: string }
  | { readonly ok: false; readonly input: Json; readonly error: StepError };

/** Reads the argument text of a model: JSON, a known tool, an input that fits its schema. */
export function checkCall(agent: Agent, name: string, inputText: string): CheckedCall | Promise<CheckedCall> {
  if (inputText.length > MAX_INPUT_CHARS) {
    return refused(null, `The arguments of ${name} are longer than ${MAX_INPUT_CHARS} characters.`);
  }
  let value: unknown;
  try {
    // Some providers send no text at all for a tool without arguments; the schema says whether that fits.
    value = inputText.trim() === "" ? {} : JSON.parse(inputText);
  } catch {
    return refused(inputText, `The arguments of ${name} are not valid JSON.`);
  }
  const inexact = inexactNumber(inputText);
  if (inexact !== undefined) return refused(inputText, `The arguments of ${name}: ${inexactMessage(inexact)}`);
  if (!isJson(value)) return refused(inputText, `The arguments of ${name} are nested too deep.`);
  return checkInput(agent, name, value as Json); // JSON.parse gives JSON
}

/**
 * A call of an answer that reached its limit of length, if its arguments may not be whole: broken, or none at all, which
 * some providers' packages make `{}`.
 */
export function cutOff(name: string, inputText: string): CheckedCall | undefined {
  if (!/^[\s{}]*$/.test(inputText) && isJsonText(inputText)) return undefined;
  const message = `The answer reached its limit of length before the arguments of ${name} were whole: nothing was run. Write less at once.`;
  return refused(inputText.trim() === "" ? null : inputText, message);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Checks an input that is JSON already: a person's edit, or what a policy put in its place. */
export function checkInput(agent: Agent, name: string, value: Json): CheckedCall | Promise<CheckedCall> {
  const tool = agent.tools.get(name);
  if (!tool) {
    const error: StepError = { code: "unknown-tool", message: `There is no tool named ${name}.` };
    return { ok: false, input: value, error };
  }
  try {
    const parsed = parseWith(tool.tool.inputSchema, value);
    const finish = (result: Awaited<typeof parsed>): CheckedCall =>
      "issues" in result ? invalid(name, value, result.issues) : accepted(tool, value, result.value);
    if (parsed instanceof Promise) return parsed.then(finish, (error: unknown) => crashed(name, value, error));
    return finish(parsed);
  } catch (error) {
    return crashed(name, value, error);
  }
}

function accepted(tool: AgentTool, value: Json, parsed: unknown): CheckedCall {
  try {
    return { ok: true, tool, input: parsed as Json, canonical: canonicalJson(parsed) }; // canonicalJson throws for what is not JSON
  } catch (error) {
    return crashed(tool.name, value, error);
  }
}

function invalid(name: string, input: Json, issues: readonly Issue[]): CheckedCall {
  const list = issues.map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message));
  const message = `The arguments do not fit ${name}: ${list.join("; ")}`;
  return { ok: false, input, error: { code: "invalid-input", message, issues } };
}

function refused(input: Json, message: string): CheckedCall {
  return { ok: false, input, error: { code: "invalid-input", message } };
}

/** A schema that throws refuses the call; only our own words reach the model and the screen. */
function crashed(name: string, input: Json, error: unknown): CheckedCall {
  return refused(input, isToolRunError(error) ? error.message : `The arguments of ${name} could not be checked.`);
}
