import { type ChatCompletionRequest, type ChatMessage, LLMock } from "@copilotkit/aimock";
import { ports } from "./ports.ts";

/** One result as the model read it. */
export interface Told {
  readonly id: string | undefined;
  readonly text: string;
}

/**
 * A server that speaks OpenAI's chat API and plays a shop assistant over it: it looks the order up, asks for the
 * refund, and then repeats what it was told. Everything goes in pieces of a few characters.
 */
export function shopModelServer(): LLMock {
  const server = new LLMock({ port: ports.model, host: "127.0.0.1", logLevel: "silent" });
  const cut = { content: "This answer breaks off before its end, and comes again whole." };
  server.on({ userMessage: /break off once/, sequenceIndex: 0 }, cut, {
    chunkSize: 5,
    latency: 20,
    truncateAfterChunks: 6,
  });
  server.on({ userMessage: /break off always/ }, cut, { chunkSize: 5, latency: 20, truncateAfterChunks: 6 });
  server.on({ userMessage: /break off once/ }, cut, { chunkSize: 5 });
  server.on({ predicate: () => true }, answer, { chunkSize: 4 });
  return server;
}

function answer(request: ChatCompletionRequest) {
  const text = personsLastText(request);
  const results = resultsOfRun(request);
  if (/hello/i.test(text)) return { content: "Hello from the model server." };
  const last = results.at(-1);
  if (results.length === 0) {
    const lookUp = { id: "call_find", name: "findOrder", arguments: '{"orderId":"1042"}' };
    return { content: "Let me look.", toolCalls: [lookUp] };
  }
  if (results.length > 1 || !last) return { content: `I was told: ${last?.text}` };
  const refund = { orderId: "1042", amount: 49.9, reason: 'asked for "twice"' };
  const calls = [{ id: "call_refund", name: "refundOrder", arguments: JSON.stringify(refund) }];
  if (/both/.test(text)) calls.push({ id: "call_look", name: "findOrder", arguments: '{"orderId":"1041"}' });
  return { content: "I would refund it.", toolCalls: calls };
}

/** What the person wrote last; what the app itself adds is marked. */
function personsLastText({ messages }: ChatCompletionRequest): string {
  const person = messages.findLast((message) => message.role === "user" && !textOf(message).startsWith("[Note from"));
  return person ? textOf(person) : "";
}

/** The results since the person's last message, in the order the model reads them. */
export function resultsOfRun({ messages }: Pick<ChatCompletionRequest, "messages">): readonly Told[] {
  const from = messages.findLastIndex(
    (message) => message.role === "user" && !textOf(message).startsWith("[Note from"),
  );
  return messages
    .slice(from + 1)
    .filter(({ role }) => role === "tool")
    .map((message) => ({ id: message.tool_call_id, text: textOf(message) }));
}

export function textOf({ content }: ChatMessage): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("");
}
