/** A model that calls a tool for each message and then answers, a word at a time: each word is an event of its own. */
export function callsThenSays(name, input, words = []) {
  let calls = 0;
  return {
    id: "scripted",
    async *stream({ messages }) {
      if (messages.at(-1).role === "user") {
        const id = `call_${++calls}`;
        yield [
          { type: "call-start", id, name },
          { type: "call", id, name, input: JSON.stringify(input) },
        ];
        return yield { type: "end", reason: "tools", usage: { inputTokens: 900, outputTokens: 40 } };
      }
      for (const text of words) {
        await new Promise((resolve) => setImmediate(resolve));
        yield { type: "text", text };
      }
      yield { type: "end", reason: "stop", usage: { inputTokens: 1_000, outputTokens: words.length } };
    },
  };
}
