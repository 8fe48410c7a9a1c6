import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import { createEngine } from "../../src/server/create-tool-run.ts";
import { handleRequest } from "../../src/server/handle-request.ts";
import type { Agent, ToolContext } from "../../src/server.ts";
import { agentTool, defineAgent, memoryStore, tool } from "../../src/server.ts";
import { call, calls, delay, fail, say, scriptedModel } from "../../src/testing.ts";

/** A server whose runs stream, work, ask, and have another agent work for them. */
export interface BusyServer {
  readonly port: number;
  /** What is in a thread's log. */
  events(threadId: string): Promise<readonly ThreadEvent[]>;
  /** How often the tool that asks ran, by call. */
  readonly refunds: ReadonlyMap<string, number>;
  readonly errors: readonly unknown[];
  close(): Promise<void>;
}

/** Beats as often: what 15 seconds are to a client whose clock is fast. */
const LEASE_MS = 700;
const WORD_MS = 4;

/** `short`: a platform that gives a request a second, and where nothing goes on after it. */
export async function startBusyServer({ short = false }: { readonly short?: boolean } = {}): Promise<BusyServer> {
  const refunds = new Map<string, number>();
  const errors: unknown[] = [];
  const store = memoryStore();
  const engine = createEngine(
    {
      agent: busyAgent(refunds),
      store,
      leaseMs: LEASE_MS,
      maxRequestMs: short ? 1_000 : undefined,
      maxActiveRuns: 1_000,
      onError: (error) => errors.push(error),
    },
    { production: false, livesOn: !short, waitUntil: undefined },
  );
  const http = { identify: async () => ({ id: "mia" }), allowedOrigins: [] };
  const server = createServer((incoming, outgoing) => {
    answer((request) => handleRequest(engine, http, request), incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    refunds,
    errors,
    async events(threadId) {
      const read = await store.read(threadId);
      return read && !("gone" in read) ? read.events.map(({ seq, data }) => parseEvent(data, seq)) : [];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One bridge from Node's requests to ours and back; a reader that leaves is no failure. */
async function answer(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const { method = "GET", headers, url } = incoming;
  const body = method === "GET" ? null : await buffer(incoming);
  const own = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  const response = await handle(new Request(`http://shop${url}`, { method, headers: own, body, signal: gone.signal }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
  if (response.body)
    await pipeline(Readable.fromWeb(response.body as NodeStream), outgoing).catch(() => {}); // the same class
  else outgoing.end();
}

/**
 * Looks something up, then refunds (which asks) while another agent measures, then says what came of it. "flaky" in
 * the message: the second answer breaks off once, so that its text is taken back.
 */
function busyAgent(refunds: Map<string, number>): Agent {
  const failed = new Set<string>();
  const helper = defineAgent({
    model: scriptedModel(
      ({ results }) =>
        results.length === 0 ? [say("Ich messe … "), call("measure", { by: "hand" })] : say("12 µm 📏"),
      { delayMs: WORD_MS },
    ),
    tools: {
      measure: tool({ description: "x", inputSchema: z.object({ by: z.string() }), readOnly: true, execute: work }),
    },
  });
  return defineAgent({
    model: scriptedModel(
      ({ results, lastUserText }) => {
        if (results.length === 0)
          return [say(`Grüße! 😀 Looking for “${lastUserText}”. `), call("lookUp", { id: "17" })];
        if (results.length === 1) {
          if (lastUserText.includes("flaky") && !failed.has(lastUserText)) {
            failed.add(lastUserText);
            return [say("This text is taken back ✂ "), fail("try again")];
          }
          return calls(
            say("Ein Moment — ich erstatte\r\nund messe. "),
            call("refund", { id: "17", amount: 4.9 }),
            call("research", { prompt: "how thick?" }),
          );
        }
        return [say("Fertig ✅ "), delay(20), say(`${results.map(({ status }) => status).join(", ")} für 4,90 €.`)];
      },
      { delayMs: WORD_MS },
    ),
    tools: {
      lookUp: tool({ description: "x", inputSchema: z.object({ id: z.string() }), readOnly: true, execute: work }),
      refund: tool({
        description: "x",
        inputSchema: z.object({ id: z.string(), amount: z.number() }),
        execute: async (input, context) => {
          refunds.set(context.callId, (refunds.get(context.callId) ?? 0) + 1);
          return work(input, context);
        },
      }),
      research: agentTool({ description: "x", agent: helper }),
    },
  });
}

/** A tool that shows how far it is. */
async function work(_input: unknown, context: ToolContext): Promise<{ readonly found: string }> {
  for (let step = 1; step <= 3; step++) {
    context.progress({ value: step, max: 3, label: `Schritt ${step}` });
    context.log(`line ${step} ü`);
    await sleep(8);
  }
  context.partial({ half: "½" });
  await sleep(8);
  return { found: "straße 7" };
}
