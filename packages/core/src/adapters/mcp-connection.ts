import { ToolRunError } from "../errors.ts";
import type { ElicitAnswer, McpClient } from "./mcp-client.ts";
import { onElicit, onListChanged, request } from "./mcp-client.ts";
import { isConnectionLost, isSessionGone, isTimedOut } from "./mcp-failure.ts";
import type { ListedTool } from "./mcp-list.ts";
import { listTools } from "./mcp-list.ts";
import { createTurns } from "./mcp-turns.ts";
import { after } from "./timer.ts";

/** A connected client, or how to get one: it is asked again when the connection is gone. */
export type McpSource = McpClient | (() => Promise<McpClient>);

/** One call on its way to a server. */
export interface McpCall {
  readonly name: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  onProgress(progress: { progress: number; total?: number | undefined; message?: string | undefined }): void;
  /** Answers the server's questions during this call. */
  onElicit(params: Readonly<Record<string, unknown>>): Promise<ElicitAnswer>;
}

/** What all uses of one client, or of one way to connect, share. */
export interface McpConnection {
  /** The server's tools: remembered until it says that they changed, or for so long. */
  list(maxAgeMs: number): Promise<readonly ListedTool[]>;
  call(call: McpCall): Promise<Readonly<Record<string, unknown>>>;
  /** True the first time something is said. */
  isNews(text: string): boolean;
}

const MAX_NEWS = 1_000;
const CONNECT_MS = 30_000;

const connections = new WeakMap<McpSource, McpConnection>();

/** The connection of a client or a function that connects; the same for the same one. */
export function connectionOf(source: McpSource): McpConnection {
  const known = connections.get(source);
  if (known) return known;
  const made = createConnection(source);
  connections.set(source, made);
  return made;
}

interface Listing {
  readonly tools: Promise<readonly ListedTool[]>;
  readonly at: number;
  /** What had changed when it was read; nothing until then. */
  readonly read: { changes?: number };
}

/** One client, as long as it is of use. */
interface Line {
  readonly client: McpClient;
  /** True when its server may ask the person. */
  readonly asks: boolean;
  busy: number;
  isLost: boolean;
  /** True when its server may still be at a call that we gave up: whose question it asks next, nobody knows. */
  isDeaf: boolean;
}

function createConnection(source: McpSource): McpConnection {
  let line: Promise<Line> | undefined;
  let listing: Listing | undefined;
  let changes = 0;
  let current: McpCall | undefined;
  const turns = createTurns();
  const said = new Set<string>();

  const connect = async (): Promise<Line> => {
    const client = typeof source === "function" ? await inTime(source()) : source;
    if (client.transport === undefined) throw closed();
    const asks = onElicit(client, async (params) =>
      current && !made.isDeaf ? current.onElicit(params) : { action: "cancel" },
    );
    onListChanged(client, () => {
      changes++;
    });
    const made: Line = { client, asks, busy: 0, isLost: false, isDeaf: false };
    return made;
  };

  /** The open line, or another one: what was learned from the old one counts no more. */
  const open = async (): Promise<Line> => {
    const known = line;
    const open = await known?.catch(() => undefined);
    if (open && !open.isLost && open.client.transport !== undefined) return open;
    if (line === known) {
      changes++;
      line = connect();
    }
    return line ?? connect();
  };

  /** Does something with a line; one that broke is left, and closed when nothing else is under way on it. */
  const use = async <Value>(work: (line: Line) => Promise<Value>): Promise<Value> => {
    const own = await open();
    own.busy++;
    try {
      return await work(own);
    } catch (error) {
      if (typeof source === "function" && (own.isDeaf || isConnectionLost(error))) own.isLost = true;
      throw error;
    } finally {
      own.busy--;
      if (own.isLost && own.busy === 0) own.client.close().catch(() => undefined); // it is of no use already
    }
  };

  /** Once more, on another line, where the first try did nothing. */
  const twice = async <Value>(work: () => Promise<Value>, didNothing: (error: unknown) => boolean): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      if (typeof source !== "function" || !didNothing(error)) throw error;
      return work();
    }
  };

  const readList = (read: Listing["read"]): Promise<readonly ListedTool[]> =>
    use(async ({ client }) => {
      const before = changes;
      const tools = await listTools(client);
      read.changes = before;
      return tools;
    });

  const send = async (call: McpCall): Promise<Readonly<Record<string, unknown>>> => {
    const { name, input, signal, timeoutMs, onProgress } = call;
    const settings = { signal, timeout: timeoutMs, onprogress: onProgress };
    for (;;) {
      const result = await use((own) => {
        signal.throwIfAborted();
        const perform = () => request(own.client, "tools/call", { name, arguments: input }, settings);
        if (!own.asks) return perform();
        // A question says nothing of the call it belongs to: one call at a time where there may be questions.
        return turns.take(signal, async () => {
          if (own.isLost) return undefined; // left while this call stood in line
          current = call;
          try {
            return await perform();
          } catch (error) {
            own.isDeaf ||= signal.aborted || isTimedOut(error);
            throw error;
          } finally {
            current = undefined;
          }
        });
      });
      if (result) return result;
    }
  };

  return {
    list(maxAgeMs) {
      const at = performance.now();
      const isFresh = listing?.read.changes === undefined || listing.read.changes === changes;
      if (listing && isFresh && at - listing.at < maxAgeMs) return listing.tools;
      const read: Listing["read"] = {};
      const own: Listing = { at, read, tools: twice(() => readList(read), isConnectionLost) };
      listing = own;
      own.tools.catch(() => {
        if (listing === own) listing = undefined;
      });
      return own.tools;
    },
    /** A session that is gone did nothing; after anything else nobody knows, so it is not sent twice. */
    call: (call) =>
      twice(
        () => send(call),
        (error) => !call.signal.aborted && isSessionGone(error),
      ),
    isNews(text) {
      if (said.has(text) || said.size >= MAX_NEWS) return false;
      said.add(text);
      return true;
    },
  };
}

/** One that never connects must not keep all others waiting for it. */
async function inTime(connecting: Promise<McpClient>): Promise<McpClient> {
  let cancel: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = after(CONNECT_MS, () => reject(new Error(`The tool server did not connect within ${CONNECT_MS} ms.`)));
  });
  try {
    return await Promise.race([connecting, late]);
  } finally {
    cancel();
  }
}

function closed(): ToolRunError {
  return new ToolRunError(
    "unavailable",
    "The connection to the tool server is closed. Give mcpTools a function that connects, and it is opened again.",
  );
}
