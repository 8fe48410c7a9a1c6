import type { Tool } from "../agent/agent.ts";
import type { ToolAnnotations } from "../agent/annotations.ts";
import { ask } from "../agent/ask.ts";
import { objectSchema } from "../agent/json-schema.ts";
import type { ToolOptions } from "../agent/tool.ts";
import { tool } from "../agent/tool.ts";
import type { ToolContext } from "../agent/tool-context.ts";
import { isUnknownEffect } from "../agent/unknown-effect.ts";
import { ToolRunError } from "../errors.ts";
import { wireToolName } from "../model/tool-name.ts";
import { visibleText } from "../model/without-invisible.ts";
import type { Json } from "../protocol/values.ts";
import type { McpConnection, McpSource } from "./mcp-connection.ts";
import { connectionOf } from "./mcp-connection.ts";
import type { McpOutput } from "./mcp-content.ts";
import { errorTextOf, outputOf, toModel } from "./mcp-content.ts";
import { failureOf, neededPages } from "./mcp-failure.ts";
import type { ListedTool } from "./mcp-list.ts";
import { createQuestions } from "./mcp-questions.ts";
import { after } from "./timer.ts";

/** How a server's tools are used. Names are those the server gives them. */
export interface McpToolsOptions {
  /** In front of every name, so that two servers can have tools of the same name: `prefix_name`. @defaultValue none */
  readonly prefix?: string | undefined;
  /** The only tools to use. @defaultValue all */
  readonly allow?: readonly string[] | undefined;
  /** Tools not to use. @defaultValue none */
  readonly deny?: readonly string[] | undefined;
  /** Tools that *you* know to change nothing: they run without asking. What the server says of itself is only a hint. */
  readonly readOnly?: readonly string[] | undefined;
  /** Tools that are safe to run again when the connection broke, beside those the server says it of. @defaultValue none */
  readonly idempotent?: readonly string[] | undefined;
  /** A rule for all of them, as of any tool. @defaultValue what is not `readOnly` asks */
  readonly approval?: ToolOptions<ReturnType<typeof objectSchema>, never>["approval"];
  /** How long one call may take, in ms. @defaultValue 60,000 */
  readonly timeoutMs?: number | undefined;
  /** How long the list is believed while the server says nothing of a change, in ms. @defaultValue 60,000 */
  readonly maxAgeMs?: number | undefined;
  /** Hears once of every tool that cannot be used, and why. @defaultValue console.error */
  readonly onError?: ((error: ToolRunError) => void) | undefined;
}

const MAX_DESCRIPTION_CHARS = 8_000;
const MAX_SCHEMA_CHARS = 64 * 1024;
/** How long a server may take to end a call whose question is with a person now. */
const GRACE_MS = 2_000;

/**
 * The tools of an MCP server, for `dynamicTools: () => mcpTools(client)`. Their calls ask like any other's; what the
 * server asks during a call waits in the same list as approvals, and its answer runs the call again.
 * @throws what the client throws when the list cannot be read, and `unavailable` for a closed client.
 */
export async function mcpTools(
  source: McpSource,
  options: McpToolsOptions = {},
): Promise<Readonly<Record<string, Tool>>> {
  const { allow, deny = [], maxAgeMs = 60_000 } = options;
  const connection = connectionOf(source);
  const listed = await connection.list(maxAgeMs);
  const report = reporter(connection, options);
  const tools = new Map<string, Tool>();
  for (const each of listed) {
    if ((allow && !allow.includes(each.name)) || deny.includes(each.name)) continue;
    try {
      const name = nameOf(each.name, options.prefix);
      if (tools.has(name)) throw new Error("another one has its name");
      tools.set(name, toolOf(each, connection, options));
    } catch (error) {
      report(`The tool ${JSON.stringify(each.name.slice(0, 200))} of the server was left out`, error);
    }
  }
  for (const name of [...(allow ?? []), ...(options.readOnly ?? []), ...(options.idempotent ?? [])]) {
    if (!listed.some((each) => each.name === name)) report(`The server has no tool ${JSON.stringify(name)}`);
  }
  return Object.fromEntries(tools);
}

function reporter(connection: McpConnection, { onError = console.error, prefix = "" }: McpToolsOptions) {
  return (what: string, cause?: unknown): void => {
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    const message = `${what}${why}.`;
    if (connection.isNews(`${prefix} ${message}`)) onError(new ToolRunError("invalid-config", message, { cause }));
  };
}

/** A name that every provider takes. */
function nameOf(name: string, prefix: string | undefined): string {
  if (name === "" || name.length > 200) throw new Error("its name is no name");
  return wireToolName(prefix ? `${prefix}_${name}` : name);
}

function toolOf(listed: ListedTool, connection: McpConnection, options: McpToolsOptions): Tool {
  const { name, description, inputSchema } = listed;
  const { readOnly = [], idempotent = [], timeoutMs = 60_000 } = options;
  if (isFields(listed.execution) && listed.execution.taskSupport === "required") {
    throw new Error("it runs as a task only, which is not supported");
  }
  const size = JSON.stringify(inputSchema)?.length ?? 0;
  if (size > MAX_SCHEMA_CHARS) throw new Error(`its schema has ${size} characters; ${MAX_SCHEMA_CHARS} are taken`);
  const annotations = annotationsOf(listed);
  return tool({
    title: textOf(listed.title, 200) ?? textOf(annotations.title, 200) ?? name,
    description: textOf(description, MAX_DESCRIPTION_CHARS) ?? "",
    inputSchema: objectSchema(inputSchema as Json), // came as JSON
    readOnly: readOnly.includes(name),
    annotations,
    approval: options.approval,
    idempotent: idempotent.includes(name) || readOnly.includes(name) || annotations.idempotentHint === true,
    timeoutMs,
    retry: { when: isUnknownEffect }, // what the server said of itself is an answer
    toModel,
    execute: (input, context): Promise<McpOutput> => callTool(connection, name, input, context, timeoutMs),
  });
}

async function callTool(
  connection: McpConnection,
  name: string,
  input: unknown,
  context: ToolContext,
  timeoutMs: number,
): Promise<McpOutput> {
  const abort = new AbortController();
  const onStop = (): void => abort.abort(context.signal.reason);
  let cancelGrace: () => void = () => undefined;
  const questions = createQuestions(context, () => {
    cancelGrace = after(GRACE_MS, () => abort.abort(new DOMException("A person was asked.", "AbortError")));
  });
  context.signal.addEventListener("abort", onStop, { once: true });
  if (context.signal.aborted) onStop();
  const perform = async (): Promise<McpOutput> => {
    const result = await connection.call({
      name,
      input,
      signal: abort.signal,
      timeoutMs: timeoutMs + GRACE_MS, // ours ends first
      onProgress: ({ progress, total, message }) => context.progress({ value: progress, max: total, label: message }),
      onElicit: (params) => questions.answer(params),
    });
    if (questions.open) return ask(questions.open);
    if (result.isError === true) throw new ServerSaid(errorTextOf(result));
    return outputOf(result);
  };
  const explained = async (error: unknown): Promise<never> => {
    if (error instanceof ServerSaid || context.signal.aborted) throw error;
    if (questions.open) return ask(questions.open);
    throw failureOf(error);
  };
  try {
    // Refused until a page was visited: a server that was told so may still refuse the first call after it.
    const visited = async (error: unknown): Promise<McpOutput> =>
      (await questions.hasVisited(neededPages(error) ?? [])) ? perform().catch(explained) : explained(error);
    return await perform().catch(visited);
  } finally {
    cancelGrace();
    context.signal.removeEventListener("abort", onStop);
  }
}

/** What went wrong, in the server's words: the model reads them. */
class ServerSaid extends Error {}

function annotationsOf({ annotations }: ListedTool): ToolAnnotations {
  if (!isFields(annotations)) return {};
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return {
    title: textOf(title, 200),
    readOnlyHint: flag(readOnlyHint),
    destructiveHint: flag(destructiveHint),
    idempotentHint: flag(idempotentHint),
    openWorldHint: flag(openWorldHint),
  };
}

function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function textOf(value: unknown, maxChars: number): string | undefined {
  return typeof value === "string" && value !== "" ? visibleText(value).slice(0, maxChars) : undefined;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
