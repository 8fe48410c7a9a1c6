import * as z from "zod/mini";

/**
 * A client of the official SDK (`@modelcontextprotocol/sdk`, 1.x), connected. Declare `capabilities: { elicitation:
 * { form: {}, url: {} } }` if its servers may ask the person.
 */
export interface McpClient {
  /** Undefined once the connection is closed. */
  readonly transport?: unknown;
  request(request: never, resultSchema: never, options?: never): Promise<unknown>;
  setRequestHandler(requestSchema: never, handler: never): void;
  setNotificationHandler(notificationSchema: never, handler: never): void;
  close(): Promise<void>;
}

/** How a request is made. */
export interface RequestSettings {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  readonly onprogress?:
    | ((progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void)
    | undefined;
}

/** Everything else of a result is kept, and looked at where it is used. */
const anything = z.looseObject({});

/** One request. What comes back is the server's: nothing of it is known to be what it should be. */
export async function request(
  client: McpClient,
  method: "tools/list" | "tools/call",
  params: Readonly<Record<string, unknown>>,
  settings: RequestSettings,
): Promise<Readonly<Record<string, unknown>>> {
  const result = await client.request({ method, params } as never, anything as never, settings as never);
  return result as Readonly<Record<string, unknown>>; // a loose object
}

const elicitRequest = z.object({ method: z.literal("elicitation/create"), params: anything });

/** What a server gets for a question. */
export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: unknown;
}

/** Takes a server's questions; false where the client does not declare that it takes any. */
export function onElicit(
  client: McpClient,
  handler: (params: Readonly<Record<string, unknown>>) => Promise<ElicitAnswer>,
): boolean {
  try {
    const take = (asked: z.infer<typeof elicitRequest>): Promise<ElicitAnswer> => handler(asked.params);
    client.setRequestHandler(elicitRequest as never, take as never);
    return true;
  } catch {
    return false; // the SDK lets nobody answer what the client did not declare
  }
}

const listChanged = z.object({ method: z.literal("notifications/tools/list_changed") });

/** Hears when a server says that its tools are others now. */
export function onListChanged(client: McpClient, handler: () => void): void {
  client.setNotificationHandler(listChanged as never, handler as never);
}
