import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { newClient } from "./mcp-servers.ts";

type Answer = Readonly<Record<string, unknown>>;

/** What a call's handler gets beside its input. */
export interface CallExtra {
  readonly signal: AbortSignal;
  readonly server: Server;
}

/** A server in this process that does what a test says, however odd. */
export interface LinkedServer {
  /** What it lists, in pages. May be replaced. */
  pages: readonly (readonly unknown[])[];
  /** Names of all calls that reached it, with their input. */
  readonly called: [name: string, input: unknown][];
  /** How often its list was read, in pages. */
  readonly listed: number;
  connect(): Promise<Client>;
  /** Breaks the connection, as a server that dies does. */
  drop(): Promise<void>;
  /** Says that the list is another one now. */
  changed(): Promise<void>;
}

/** A tool as servers list it. */
export function listed(name: string, more: Answer = {}): unknown {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" }, ...more };
}

export function linkedServer(
  pages: LinkedServer["pages"],
  answer: (name: string, input: Answer, extra: CallExtra) => Answer | Promise<Answer> = (name) => text(`${name} ran`),
): LinkedServer {
  let server: Server | undefined;
  let count = 0;
  const made = { pages, called: [] as [string, unknown][], connect, drop, changed };
  async function connect(): Promise<Client> {
    const own = new Server({ name: "odd", version: "1" }, { capabilities: { tools: { listChanged: true } } });
    own.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      count++;
      const page = Number(params?.cursor ?? 0);
      const next = page + 1 < made.pages.length ? { nextCursor: String(page + 1) } : {};
      return { tools: made.pages[page] ?? [], ...next } as never;
    });
    own.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
      made.called.push([params.name, params.arguments]);
      return (await answer(params.name, params.arguments ?? {}, { signal, server: own })) as never;
    });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await own.connect(far);
    const client = newClient();
    await client.connect(near);
    server = own;
    return client;
  }
  async function drop(): Promise<void> {
    await server?.close();
  }
  async function changed(): Promise<void> {
    await server?.sendToolListChanged();
  }
  return Object.defineProperty(made as typeof made & { readonly listed: number }, "listed", { get: () => count });
}

/** A result of one text. */
export function text(words: string): Answer {
  return { content: [{ type: "text", text: words }] };
}
