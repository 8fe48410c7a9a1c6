import type { Message, Thread } from "../protocol/thread.ts";
import type { MessagePart } from "../protocol/values.ts";
import type { ViewMessage } from "../protocol/view-thread.ts";

/** What a person sends. */
export interface OutgoingMessage {
  readonly text: string;
  readonly files?: readonly Omit<MessagePart & { readonly type: "file" }, "type">[] | undefined;
}

/** A message of this tab that the log may not show yet. */
export interface Unsent {
  readonly view: ViewMessage;
  /** The thread's seq when it was written: the log's own copy comes after it. */
  readonly since: number;
  /** Seq of the recorded message; unknown until the server answered. */
  seq: number;
}

let count = 0;

/** A message as it is shown until the log has it. */
export function toUnsent({ text, files = [] }: OutgoingMessage, at: number, since: number): Unsent {
  const parts: MessagePart[] = files.map((file) => ({ type: "file", ...file }));
  if (text) parts.unshift({ type: "text", text });
  const id = `unsent-${++count}`;
  return { view: { id, role: "user", parts, at, sending: true }, since, seq: Number.POSITIVE_INFINITY };
}

/**
 * Those the thread does not show yet. The stream can be faster than the reply to the post, and a recorded
 * message does not carry its key: until the reply is here, the first new one with the same text is it.
 */
export function unsentOf(outbox: readonly Unsent[], thread: Thread): readonly Unsent[] {
  const claimed = new Set<Message>();
  return outbox.filter(({ seq, since, view }) => {
    if (seq <= thread.seq) return false;
    const text = textOf(view.parts);
    const copy = thread.messages.find(
      (message) => message.seq > since && !claimed.has(message) && textOf(message.parts) === text,
    );
    if (copy) claimed.add(copy);
    return !copy;
  });
}

function textOf(parts: readonly MessagePart[] | ViewMessage["parts"]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
