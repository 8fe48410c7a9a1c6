import type { Agent } from "../agent/agent.ts";
import { ToolRunError } from "../errors.ts";
import { checkPairing } from "../model/check-pairing.ts";
import type { ModelMessage } from "../model/model.ts";
import { copyJson } from "../protocol/copy-json.ts";
import type { Json } from "../protocol/values.ts";
import type { CallModel } from "./model-call.ts";
import { messagesFor } from "./model-hooks.ts";
import { withModels } from "./with-models.ts";

/** What a caller put in the place of a run's history. What comes after it follows as it is. */
export interface PromptEdits {
  /** The history as it goes out: edited, instructions first. */
  apply(messages: readonly ModelMessage[]): readonly ModelMessage[];
  /**
   * Puts `edited` in the place of `history`, from the next request on.
   * @throws `invalid-config` where no model would take it.
   */
  replace(history: readonly ModelMessage[], edited: readonly ModelMessage[]): void;
}

interface Edit {
  readonly messages: readonly ModelMessage[];
  /** Instructions of the caller; without them the agent's go out. */
  readonly system: ModelMessage | undefined;
  /** How many messages of the history it stands for, and the last of them. */
  readonly count: number;
  readonly last: ModelMessage | undefined;
}

export function createPromptEdits(): PromptEdits {
  let edit: Edit | undefined;
  return {
    apply(messages) {
      if (!edit) return messages;
      const { system, rest } = split(messages);
      if (rest[edit.count - 1] !== edit.last) throw new Error("The history is not the one that was edited.");
      const first = edit.system ?? system;
      return [...(first ? [first] : []), ...edit.messages, ...rest.slice(edit.count)];
    },
    replace(history, edited) {
      checkEdited(edited);
      const { system, rest } = split(edited.map(copyMessage));
      edit = { messages: rest, system: system ?? edit?.system, count: history.length, last: history.at(-1) };
    },
  };
}

/**
 * The same agent, whose model is told the edited history. The edits come first: what is masked, summarised and shown
 * to a hook is what the caller made of it.
 */
export function withEdits(
  agent: Agent,
  edits: PromptEdits,
  modelCall: () => Omit<CallModel, "agent" | "plan" | "prompt">,
): Agent {
  const plain = { ...agent, history: undefined, hooks: { ...agent.hooks, beforeModel: undefined } };
  return withModels(plain, (model) => ({
    id: model.id,
    async *stream(request, signal) {
      const messages = await messagesFor(
        { ...modelCall(), agent, prompt: () => edits.apply(request.messages) },
        signal,
      );
      yield* model.stream({ ...request, messages }, signal);
    },
  }));
}

/** A copy that a caller may change: what the log holds stays as it is. */
export function copyMessage(message: ModelMessage): ModelMessage {
  return copyJson(message as unknown as Json) as unknown as ModelMessage; // a message is JSON, its absent fields apart
}

function split(messages: readonly ModelMessage[]): {
  readonly system: ModelMessage | undefined;
  readonly rest: readonly ModelMessage[];
} {
  const [first] = messages;
  return first?.role === "system" ? { system: first, rest: messages.slice(1) } : { system: undefined, rest: messages };
}

const ROLES: readonly unknown[] = ["user", "assistant", "tool"];

function checkEdited(messages: readonly ModelMessage[]): void {
  const { rest } = split(messages);
  if (rest.length === 0) throw invalid("at least one message has to be left");
  const odd = rest.findIndex((message) => !ROLES.includes(message?.role));
  if (odd >= 0) throw invalid(`only the first may be a system message, and every other needs a known role`);
  try {
    checkPairing(rest);
  } catch (cause) {
    throw invalid("each call needs exactly one result, in the message right after it and in the same order", cause);
  }
}

function invalid(why: string, cause?: unknown): ToolRunError {
  const detail = cause instanceof ToolRunError ? ` (${cause.message})` : "";
  return new ToolRunError("invalid-config", `The edited messages cannot go to a model: ${why}${detail}.`, { cause });
}
