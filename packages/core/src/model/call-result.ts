import { canonicalJson } from "../protocol/digest.ts";
import type { Call } from "../protocol/thread.ts";
import type { Json, NotRunReason, StepError } from "../protocol/values.ts";

/** How the result of every call that was not run begins, so that no model takes a refusal for an effect. */
export const NOT_RUN = "The tool was NOT run";

/** What follows {@link NOT_RUN}: why, without blaming the person for what a policy decided. */
export const NOT_RUN_BECAUSE: Readonly<Record<NotRunReason, string>> = {
  denied: "denied by the person",
  expired: "nobody answered in time",
  stopped: "the run ended before it could start",
  skipped: "skipped by the person",
  blocked: "blocked by the app's policy",
};

/** The result of a call that was cut off and that nobody let run again: it may have done its work. */
export const INTERRUPTED = "The tool was interrupted and was not run again";

/** How the result of a question begins that nobody answered. The question follows. */
export const NO_ANSWER = "No answer";

/** What follows {@link NO_ANSWER}. */
export const NO_ANSWER_BECAUSE: Readonly<Record<NotRunReason, string>> = {
  denied: "the person declined to answer",
  expired: "nobody answered in time",
  stopped: "the run ended before somebody answered",
  skipped: "the person skipped the question",
  blocked: "the app's policy does not allow the question",
};

/** Said wherever the tool may have had an effect nobody saw. */
export const EFFECT_UNKNOWN = "It is not known whether the tool had an effect: find out before you try again.";

/** Said where the tool ran with another input than the model's. */
export const INPUT_CHANGED = {
  person: "The person changed the input. The tool ran with the input shown here, not with yours.",
  policy: "The app's policy changed the input. The tool ran with the input shown here, not with yours.",
} as const;

/** What the model reads of a call, as a tool result says it. */
export interface CallResult {
  readonly output: Json;
  readonly isError: boolean;
}

/** The one place that puts the state of a call into words for the model. Total: every state has an answer. */
export function resultOf(call: Call): CallResult {
  switch (call.status) {
    case "succeeded":
      return changed(call, "output", (call.toModel === undefined ? call.output : call.toModel) ?? null, false);
    case "failed":
      return changed(call, "error", failureText(call), true);
    case "not-run":
      return { output: notRunText(call), isError: true };
    case "running":
      return { output: `The tool has not finished. ${EFFECT_UNKNOWN}`, isError: true };
    case "writing":
    case "queued":
    case "waiting":
      return { output: `${NOT_RUN}: nobody has decided about it yet`, isError: true };
    default:
      call.status satisfies never;
      return { output: `${NOT_RUN}: its state is unknown`, isError: true };
  }
}

/** The arguments as the model wrote them, also where a person changed them before the tool ran. */
export function argumentsOf(call: Call): string {
  return call.inputText ?? canonicalJson(call.changed ? call.changed.from : call.input);
}

/** True when a person, not a policy or a clock, refused the call. */
export function isDeniedByPerson(call: Call): boolean {
  return call.status === "not-run" && call.reason === "denied" && !isQuestion(call);
}

/** True where a person was asked for something else than leave to run. */
function isQuestion({ ask }: Call): boolean {
  return ask !== null && ask.kind !== "approval" && ask.kind !== "interrupted";
}

function changed(call: Call, key: "output" | "error", value: Json, isError: boolean): CallResult {
  if (!call.changed || (call.attempt === 0 && call.decision?.action !== "answer")) return { output: value, isError };
  return { output: { note: INPUT_CHANGED[call.changed.by], input: call.input, [key]: value }, isError };
}

function failureText(call: Call): string {
  const said = call.error ? errorText(call.error) : "The tool failed.";
  return call.effect === "unknown" ? `${said} ${EFFECT_UNKNOWN}` : said;
}

function errorText(error: StepError): string {
  const issues = error.issues ?? [];
  const lines = issues.map(({ path, message }) =>
    path.length > 0 ? `- ${path.join(".")}: ${message}` : `- ${message}`,
  );
  return [error.message, ...lines].join("\n");
}

function notRunText(call: Call): string {
  if (call.effect === "unknown") return `${INTERRUPTED}. ${EFFECT_UNKNOWN}`;
  if (isQuestion(call)) {
    const because = NO_ANSWER_BECAUSE[call.reason ?? "stopped"];
    const words = [call.decision?.reason, call.ask?.prompt && `(${call.ask.prompt})`].filter(Boolean).join(" ");
    return words ? `${NO_ANSWER}: ${because}: ${words}` : `${NO_ANSWER}: ${because}`;
  }
  const because = NOT_RUN_BECAUSE[call.reason ?? "stopped"];
  const words = call.reason === "blocked" ? call.verdict?.reason : call.decision?.reason;
  return words ? `${NOT_RUN}: ${because}: ${words}` : `${NOT_RUN}: ${because}`;
}
