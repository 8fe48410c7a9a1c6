import type { Model, ModelPart, ModelRequest } from "../../src/model/model.ts";

/** Everything a model streams, flat. */
export async function readAll(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const batch of model.stream(request, signal)) parts.push(...("type" in batch ? [batch] : batch));
  return parts;
}

/** A request of one user's text. */
export function ask(text: string, tools: ModelRequest["tools"] = []): ModelRequest {
  return { messages: [{ role: "user", parts: [{ type: "text", text }] }], tools };
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
