import { checkPairing } from "../model/check-pairing.ts";
import type { ModelMessage } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import type { HistoryOptions } from "../model/shape-history.ts";
import { shapeHistory } from "../model/shape-history.ts";
import type { Clock } from "./clock.ts";
import { inTime, RULE_MS } from "./in-time.ts";
import type { CallModel } from "./model-call.ts";

/** The history as it goes out: shortened, and what the app's hook makes of it, still paired. */
export async function messagesFor(
  options: Omit<CallModel, "plan">,
  signal: AbortSignal,
): Promise<readonly ModelMessage[]> {
  const { agent, clock, user, threadId, runId, turn } = options;
  const whole = wholeOf(options);
  const messages = agent.history ? await shortened(options, whole, agent.history, signal) : whole;
  const { beforeModel } = agent.hooks;
  if (!beforeModel) return messages;
  const changed = await hooked(clock, () =>
    beforeModel({ user, threadId, runId, turn, messages: structuredClone([...messages]) }),
  );
  if (!changed?.messages) return messages;
  await hooked(clock, () => checkMessages(changed.messages));
  return changed.messages;
}

/** The history as it is; instructions that throw are the app's mistake, and end this run only. */
function wholeOf({ prompt }: Pick<CallModel, "prompt">): readonly ModelMessage[] {
  try {
    return prompt();
  } catch (cause) {
    throw new HookError("The history could not be made.", { retryable: false, cause });
  }
}

/** A summary is a model call itself, and may be as silent; without it the history says that something is missing. */
async function shortened(
  { agent, clock, onError }: Pick<CallModel, "agent" | "clock" | "onError">,
  messages: readonly ModelMessage[],
  history: HistoryOptions,
  signal: AbortSignal,
): Promise<readonly ModelMessage[]> {
  const own = new AbortController();
  const cancel = clock.after(agent.modelSilenceMs, () => own.abort(new DOMException("Too slow.", "TimeoutError")));
  const onStop = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", onStop, { once: true });
  try {
    return await shapeHistory(messages, history, { signal: own.signal, onError });
  } finally {
    cancel();
    signal.removeEventListener("abort", onStop);
  }
}

const ROLES: readonly unknown[] = ["system", "user", "assistant", "tool"];

/** @throws for what no provider takes: messages that are none, calls and results that do not pair. */
function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.some((message) => !ROLES.includes(message?.role))) {
    throw new TypeError("beforeModel returned messages that are none.");
  }
  checkPairing(messages);
}

const LATE = Symbol("late");

/** A hook that fails, or thinks too long, ends the run: nobody knows what it wanted to prevent. */
export async function hooked<Value>(clock: Clock, hook: () => Value): Promise<Awaited<Value>> {
  let value: Awaited<Value> | typeof LATE;
  try {
    value = await inTime(clock, Promise.resolve(hook()), RULE_MS, LATE);
  } catch (cause) {
    throw new HookError("A model hook failed.", { retryable: false, cause });
  }
  if (value === LATE) throw new HookError("A model hook did not answer in time.", { retryable: false });
  return value as Awaited<Value>; // not late
}

/** What a model hook threw; never tried again. */
export class HookError extends ModelError {}

/** Rejects when the signal aborts; waited for beside work that may never end. */
export function stopped(signal: AbortSignal): Promise<never> {
  const cutOff = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  cutOff.catch(() => undefined);
  return cutOff;
}
