import { checkPairing } from "../model/check-pairing.ts";
import type { ModelMessage } from "../model/model.ts";
import { ModelError } from "../model/model.ts";
import { shapeHistory } from "../model/shape-history.ts";
import type { CallModel } from "./model-call.ts";

/** The history as it goes out: what the app's hook makes of it, still paired. */
export async function messagesFor(
  { agent, messages, ...at }: CallModel,
  signal: AbortSignal,
): Promise<readonly ModelMessage[]> {
  const { onError } = at;
  const shaped = agent.history
    ? await Promise.race([shapeHistory(messages, agent.history, { signal, onError }), stopped(signal)])
    : messages;
  const { beforeModel } = agent.hooks;
  if (!beforeModel) return shaped;
  const { user, threadId, runId, turn } = at;
  const work = hooked(() => beforeModel({ user, threadId, runId, turn, messages: structuredClone([...shaped]) }));
  const changed = (await Promise.race([work, stopped(signal)]))?.messages;
  if (!changed) return shaped;
  await hooked(() => checkPairing(changed));
  return changed;
}

/** A hook that fails ends the run: nobody knows what it wanted to prevent. */
export async function hooked<Value>(hook: () => Value): Promise<Awaited<Value>> {
  try {
    return await hook();
  } catch (cause) {
    throw new HookError("A model hook failed.", { retryable: false, cause });
  }
}

/** What a model hook threw; never tried again. */
export class HookError extends ModelError {}

/** Rejects when the signal aborts; waited for beside work that may never end. */
export function stopped(signal: AbortSignal): Promise<never> {
  const cutOff = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  cutOff.catch(() => undefined);
  return cutOff;
}
