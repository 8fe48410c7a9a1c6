import { ToolRunError } from "../errors.ts";
import type { ModelMessage } from "./model.ts";

/**
 * Every call has exactly one result, in the message right after it, in call order: what every provider asks for
 * and answers with a 400 otherwise. Cheap enough to run before each request.
 * @throws `internal`: the history is ours, so a violation is a mistake of ours and must not reach a provider.
 */
export function checkPairing(messages: readonly ModelMessage[], from = 0): void {
  const open: string[] = [];
  for (let index = from; index < messages.length; index++) {
    const message = messages[index] as ModelMessage; // index is within the list
    if (message.role === "tool") {
      const { results } = message;
      if (results.length !== open.length || results.some((result, index) => result.id !== open[index])) {
        const ids = results.map((result) => result.id);
        throw unpaired(`results [${ids.join(", ")}] follow the calls [${open.join(", ")}]`);
      }
      open.length = 0;
      continue;
    }
    if (open.length > 0) throw unpaired(`no results follow the calls [${open.join(", ")}]`);
    if (message.role !== "assistant") continue;
    for (const part of message.parts) {
      if (part.type !== "call") continue;
      if (open.includes(part.id)) throw unpaired(`two calls of one turn have the id ${part.id}`);
      open.push(part.id);
    }
  }
  if (open.length > 0) throw unpaired(`no results follow the calls [${open.join(", ")}]`);
}

function unpaired(what: string): ToolRunError {
  return new ToolRunError("internal", `The history for the model is not balanced: ${what}.`);
}
