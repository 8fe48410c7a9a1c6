import { LEGAL_TOOL_NAME } from "../../../src/model/provider-rules.ts";
import type { Compatible, Dialect } from "./dialects.ts";

/**
 * What a provider's documents ask of a request's body, written down a second time and apart from src: problems in
 * words, none for a body that it takes.
 */
export function checkRequest(speaks: Dialect | Compatible, body: unknown): readonly string[] {
  const problems: string[] = [];
  const say = (problem: string | false): void => {
    if (problem) problems.push(problem);
  };
  CHECKS[speaks](body as Any, say); // each field is looked at before it is used
  return problems;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of five dialects, looked at field by field
type Any = any;
type Say = (problem: string | false) => void;

const CHECKS: Readonly<Record<Dialect | Compatible, (body: Any, say: Say) => void>> = {
  "openai-chat": openaiChat,
  "openai-responses": responses,
  anthropic,
  gemini,
  azure: openaiChat,
  groq: chat,
  ollama: chat,
  openrouter: chat,
  deepseek(body, say) {
    chat(body, say);
    const turns = body.messages.filter((message: Any) => message.role === "assistant" && message.tool_calls);
    const thought = turns.filter((message: Any) => typeof message.reasoning_content === "string");
    say(thought.length > 0 && thought.length < turns.length && "some turns with calls lack their reasoning_content");
  },
  mistral(body, say) {
    chat(body, say);
    for (const [index, message] of body.messages.entries()) {
      const after = body.messages[index - 1];
      say(message.role === "user" && after?.role === "tool" && "a user's message comes right after results");
      for (const call of message.tool_calls ?? []) say(!/^[A-Za-z0-9]{9}$/.test(call.id) && `the id ${call.id}`);
    }
    say(body.messages.at(-1).role === "assistant" && "the assistant has the last word");
  },
};

function openaiChat(body: Any, say: Say): void {
  chat(body, say);
  for (const { tool_calls: calls = [] } of body.messages) {
    for (const { id } of calls) say(id.length > 40 && `the id ${id}`);
  }
}

function chat(body: Any, say: Say): void {
  let open: string[] = [];
  const used = new Set<string>();
  for (const message of body.messages) {
    if (message.role === "tool") {
      say(open[0] !== message.tool_call_id && `a result for ${message.tool_call_id} where ${open[0]} is due`);
      open = open.slice(1);
      say(typeof message.content !== "string" && "a result that is no text");
      continue;
    }
    say(open.length > 0 && `no results for ${open}`);
    open = [];
    if (message.role !== "assistant") {
      say((message.content?.length ?? 0) === 0 && `an empty message of ${message.role}`);
      continue;
    }
    say(!message.content && !message.tool_calls?.length && "an assistant's message with nothing in it");
    for (const call of message.tool_calls ?? []) {
      once(call.id, used, say);
      say(!/^[\x21-\x7e]{1,64}$/.test(call.id) && `the id ${call.id}`);
      isArguments(call.function.arguments, say);
      isName(call.function.name, say);
      open.push(call.id);
    }
  }
  say(open.length > 0 && `no results for ${open}`);
  for (const { function: tool } of body.tools ?? []) {
    isName(tool.name, say);
    isPlainRoot(tool.parameters, say);
    say(tool.strict === true && "a strict schema");
  }
}

function responses(body: Any, say: Say): void {
  const calls: string[] = [];
  const answered = new Set<string>();
  const items = body.input;
  for (const [index, item] of items.entries()) {
    if (item.type === "function_call") {
      once(item.call_id, new Set(calls), say);
      say(!/^[A-Za-z0-9_-]{1,64}$/.test(item.call_id) && `the id ${item.call_id}`);
      isArguments(item.arguments, say);
      isName(item.name, say);
      calls.push(item.call_id);
    } else if (item.type === "function_call_output") {
      // A call that the provider keeps comes as a reference, and only its output names it.
      const isKept = items
        .slice(0, index)
        .some((other: Any) => other.type === "item_reference" && /^fc_/.test(other.id));
      say(!calls.includes(item.call_id) && !isKept && `an output without a call: ${item.call_id}`);
      once(item.call_id, answered, say);
      say(typeof item.output !== "string" && !Array.isArray(item.output) && "an output that is no text");
    } else if (item.type === "item_reference" || item.type === "reasoning") {
      const next = items[index + 1];
      const isReasoning = item.type === "reasoning" || /^rs_/.test(item.id);
      say(isReasoning && (!next || next.role === "user") && "reasoning without what it led to");
    } else {
      say((item.content?.length ?? 0) === 0 && `an empty message of ${item.role}`);
    }
  }
  for (const id of calls) say(!answered.has(id) && `no output for ${id}`);
  for (const tool of body.tools ?? []) {
    isName(tool.name, say);
    isPlainRoot(tool.parameters, say);
    say(tool.strict !== false && `${tool.name} is strict unless told`);
  }
}

function anthropic(body: Any, say: Say): void {
  const used = new Set<string>();
  say(body.messages[0]?.role !== "user" && "the first message is not the user's");
  for (const [index, { role, content }] of body.messages.entries()) {
    const before = body.messages[index - 1];
    say(before?.role === role && `two messages of ${role} in a row`);
    say(content.length === 0 && "an empty message");
    for (const block of content) say(block.type === "text" && block.text.trim() === "" && "a blank text");
    const due = before ? before.content.filter(isUse).map((block: Any) => block.id) : [];
    const given = content.filter((block: Any) => block.type === "tool_result");
    if (role === "user") {
      say(
        given.map((block: Any) => block.tool_use_id).join() !== due.join() &&
          `results ${given.map((block: Any) => block.tool_use_id)} for calls ${due}`,
      );
      say(content.slice(0, given.length).some((block: Any) => block.type !== "tool_result") && "results are not first");
      continue;
    }
    say(index === body.messages.length - 1 && content.some(isUse) && "calls without results");
    const firstUse = content.findIndex(isUse);
    for (const [at, block] of content.entries()) {
      const isThought = block.type === "thinking" || block.type === "redacted_thinking";
      say(isThought && firstUse >= 0 && at > firstUse && "thinking behind a call");
      say(block.type === "thinking" && !block.signature && "thinking without its signature");
      if (!isUse(block)) continue;
      once(block.id, used, say);
      say(!/^[A-Za-z0-9_-]+$/.test(block.id) && `the id ${block.id}`);
      say((typeof block.input !== "object" || Array.isArray(block.input)) && "an input that is no object");
      isName(block.name, say);
    }
  }
  for (const tool of body.tools ?? []) {
    isName(tool.name, say);
    isPlainRoot(tool.input_schema, say);
  }
}

const isUse = (block: Any): boolean => block.type === "tool_use";

const GEMINI_KEYWORDS =
  "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering nullable".split(
    " ",
  );

function gemini(body: Any, say: Say): void {
  say(body.contents[0]?.role !== "user" && "the first content is not the user's");
  for (const [index, { role, parts }] of body.contents.entries()) {
    const before = body.contents[index - 1];
    say(parts.length === 0 && "an empty content");
    say(role === "model" && before?.role === "model" && "two contents of the model in a row");
    const due = (before?.parts ?? [])
      .filter((part: Any) => part.functionCall)
      .map((part: Any) => part.functionCall.name);
    const given = parts.filter((part: Any) => part.functionResponse).map((part: Any) => part.functionResponse.name);
    say(due.join() !== given.join() && `responses ${given} for calls ${due}`);
    const calls = parts.filter((part: Any) => part.functionCall);
    say(index === body.contents.length - 1 && calls.length > 0 && "calls without responses");
    say(calls.length > 0 && !calls[0].thoughtSignature && "the first call has no signature");
    for (const { functionCall } of calls) isName(functionCall.name, say);
    for (const { functionResponse } of parts) {
      say(JSON.stringify(functionResponse?.response ?? "").includes('"$ref":') && "a response with a reference in it");
    }
  }
  for (const { functionDeclarations } of body.tools ?? []) {
    for (const tool of functionDeclarations) {
      isName(tool.name, say);
      keywordsOf(tool.parameters ?? tool.parametersJsonSchema, say);
    }
  }
}

function keywordsOf(schema: Any, say: Say): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const [key, value] of Object.entries<Any>(schema)) {
    say(!GEMINI_KEYWORDS.includes(key) && `the keyword ${key}`);
    if (key === "properties" || key === "$defs") for (const inner of Object.values(value)) keywordsOf(inner, say);
    else if (Array.isArray(value) && key !== "enum" && key !== "required")
      for (const inner of value) keywordsOf(inner, say);
    else if (key === "items" || key === "additionalProperties") keywordsOf(value, say);
  }
}

function once(id: string, used: Set<string>, say: Say): void {
  say(used.has(id) && `the id ${id} twice`);
  used.add(id);
}

function isName(name: string, say: Say): void {
  say(!LEGAL_TOOL_NAME.test(name) && `the name ${name}`);
}

function isArguments(text: unknown, say: Say): void {
  try {
    const value = JSON.parse(String(text));
    say(
      (typeof text !== "string" || typeof value !== "object" || value === null || Array.isArray(value)) &&
        `arguments ${text}`,
    );
  } catch {
    say(`arguments ${text}`);
  }
}

function isPlainRoot(schema: Any, say: Say): void {
  say(schema?.type !== "object" && "a schema that is no object");
  for (const key of ["anyOf", "oneOf", "allOf"]) say(schema?.[key] !== undefined && `${key} at a schema's root`);
}
