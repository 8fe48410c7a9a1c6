import type { Json, MessagePart } from "../protocol/values.ts";
import { type ProviderMetadata, replayOf } from "./ai-sdk-replay.ts";
import { quoteInexact } from "./exact-json.ts";
import { fitSchema } from "./fit-schema.ts";
import type { AssistantPart, ModelMessage, ModelRequest, ToolChoice, ToolResult, ToolSpec } from "./model.ts";
import { type ProviderRules, rulesOf, wireCallId } from "./provider-rules.ts";

/** What an AI SDK model is called with, as far as we use it: the same in v2, v3 and v4. */
export interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  /** Absent, with `toolChoice`, when tools are off: some providers refuse an empty list. */
  readonly tools?: readonly FunctionTool[];
  readonly toolChoice?:
    | { readonly type: "auto" | "none" | "required" }
    | { readonly type: "tool"; readonly toolName: string };
  readonly abortSignal: AbortSignal;
  readonly includeRawChunks: false;
}

type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly (TextPart | FilePart)[] }
  | { readonly role: "assistant"; readonly content: readonly (TextPart | ReasoningPart | CallPart)[] }
  | { readonly role: "tool"; readonly content: readonly ResultPart[] };

interface FunctionTool extends ToolSpec {
  readonly type: "function";
  readonly strict?: false;
}
interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: ProviderMetadata;
}
interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: ProviderMetadata;
}
interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: unknown;
}
interface CallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerOptions?: ProviderMetadata;
}
interface ResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output:
    | { readonly type: "text" | "error-text"; readonly value: string }
    | { readonly type: "json" | "error-json"; readonly value: Json };
}

/** Which model a request is for. */
export interface Target {
  /** The provider's id: opaque blocks go back to where they came from only. */
  readonly origin: string;
  readonly version: "v2" | "v3" | "v4";
}

interface To extends Target {
  readonly rules: ProviderRules;
}

/**
 * Makes the translator of requests for one model: the one place that knows its provider's rules. A message that was
 * sent before is not translated again: history only grows, and its messages keep their identity.
 */
export function createRequestMapper(target: Target): (request: ModelRequest, signal: AbortSignal) => CallOptions {
  const to: To = { ...target, rules: rulesOf(target.origin) };
  const toSent = onceEach((message: ModelMessage) => toPromptMessage(message, to));
  const toTool = onceEach((tool: ToolSpec) => toFunctionTool(tool, to.rules));
  return ({ messages, tools, toolChoice }, signal) => ({
    prompt: inOrder(messages.map(toSent), to.rules),
    ...(tools.length > 0 && { tools: tools.map(toTool), toolChoice: toChoice(toolChoice) }),
    abortSignal: signal,
    includeRawChunks: false,
  });
}

function onceEach<From extends object, Made>(make: (from: From) => Made): (from: From) => Made {
  const made = new WeakMap<From, Made>();
  return (from) => {
    const known = made.get(from);
    if (known !== undefined) return known;
    const value = make(from);
    made.set(from, value);
    return value;
  };
}

/** What the assistant says between results and a person's message, for a provider that wants a word there. */
const SEEN: PromptMessage = { role: "assistant", content: [{ type: "text", text: "Done." }] };

function inOrder(messages: readonly (PromptMessage | null)[], rules: ProviderRules): readonly PromptMessage[] {
  const order: PromptMessage[] = [];
  for (const message of messages) {
    if (message === null) continue;
    if (rules.answersResults && message.role === "user" && order.at(-1)?.role === "tool") order.push(SEEN);
    order.push(message);
  }
  return order;
}

function toChoice(choice: ToolChoice = "auto"): NonNullable<CallOptions["toolChoice"]> {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

function toFunctionTool({ name, description, inputSchema }: ToolSpec, rules: ProviderRules): FunctionTool {
  const tool: FunctionTool = { type: "function", name, description, inputSchema: fitSchema(inputSchema, rules) };
  return rules.strictUnlessTold ? { ...tool, strict: false } : tool;
}

/** Null for an assistant's message with nothing in it that could be sent. */
function toPromptMessage(message: ModelMessage, to: To): PromptMessage | null {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return { role: "user", content: message.parts.map((part) => toUserPart(part, to)) };
    case "tool":
      return { role: "tool", content: message.results.map((result) => toResultPart(result, to.rules)) };
    case "assistant": {
      const replay = replayOf(message, to.origin);
      const content = replay
        ? replay.map((part) =>
            part.type === "call"
              ? toCallPart(part.call, part.metadata, to.rules)
              : { type: part.type, text: part.text, ...options(part.metadata) },
          )
        : message.parts.map((part) => (part.type === "call" ? toCallPart(part, undefined, to.rules) : part));
      const sendable = content.filter(isSendable);
      return sendable.length > 0 ? { role: "assistant", content: sendable } : null;
    }
    default:
      message satisfies never;
      return null;
  }
}

/** A blank text is refused by some providers and means nothing; an empty signed block is a block. */
function isSendable(part: TextPart | ReasoningPart | CallPart): boolean {
  return part.type !== "text" || part.providerOptions !== undefined || part.text.trim() !== "";
}

function options(metadata: ProviderMetadata | undefined): { providerOptions?: ProviderMetadata } {
  return metadata ? { providerOptions: metadata } : {};
}

function toUserPart(part: MessagePart, { version }: Target): TextPart | FilePart {
  if (part.type === "text") return { type: "text", text: part.text };
  const { mediaType, name } = part;
  const base64 = /^data:[^,]*;base64,(.*)$/is.exec(part.url)?.[1];
  const raw = base64 ?? (URL.canParse(part.url) ? new URL(part.url) : part.url);
  const data = version !== "v4" ? raw : base64 === undefined ? { type: "url", url: raw } : { type: "data", data: raw };
  return { type: "file", mediaType, ...(name !== undefined && { filename: name }), data };
}

function toCallPart(
  call: Extract<AssistantPart, { type: "call" }>,
  metadata: ProviderMetadata | undefined,
  rules: ProviderRules,
): CallPart {
  return {
    type: "tool-call",
    toolCallId: wireCallId(call.id, rules),
    toolName: call.name,
    input: toInput(call.inputText),
    ...options(metadata),
  };
}

/**
 * Providers take an object and write its JSON themselves. Text that is no JSON object is kept inside one: the model
 * sees what it wrote, and its result says that the call was refused.
 */
function toInput(text: string): unknown {
  try {
    const value: unknown = JSON.parse(quoteInexact(text));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Falls through to the same answer as any other text that is no object.
  }
  return { invalidInput: text };
}

function toResultPart({ id, name, output, isError }: ToolResult, rules: ProviderRules): ResultPart {
  return { type: "tool-result", toolCallId: wireCallId(id, rules), toolName: name, output: toOutput(output, isError) };
}

function toOutput(output: Json, isError: boolean): ResultPart["output"] {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  const text = JSON.stringify(output);
  // A key such as `$ref` is an instruction to some providers, and a string is read as it stands by all of them.
  if (text.includes('"$')) return { type: isError ? "error-text" : "text", value: text };
  return { type: isError ? "error-json" : "json", value: output };
}
