import { shopAssistant } from "../lib/scenarios.ts";

export const askForStory = "Tell me a long story";

/** The script's long story as the model gives it, word for word: nothing between it and this test. */
export async function longStory(): Promise<string> {
  let story = "";
  const request = {
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text: askForStory }] }],
    tools: [{ name: "findOrder", description: "", inputSchema: { type: "object" as const } }],
  };
  for await (const parts of shopAssistant().stream(request, new AbortController().signal)) {
    for (const part of "type" in parts ? [parts] : parts) if (part.type === "text") story += part.text;
  }
  return story;
}
