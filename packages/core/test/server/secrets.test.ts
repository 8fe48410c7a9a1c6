import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { ModelError } from "../../src/model/model.ts";
import { call, calls, fail, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint } from "./endpoint.ts";
import { BASE, endpoint, jsonRequest } from "./endpoint.ts";

/** Planted where they must stay on the server. */
const PLANTED = {
  user: "USER-SESSION-TOKEN",
  reasoning: "REASONING-OF-THE-MODEL",
  opaque: "OPAQUE-PROVIDER-BLOCK",
  providerId: "PROVIDER-CALL-ID",
  inputText: "ARGUMENT-THE-SCHEMA-DROPPED",
  toModel: "TEXT-FOR-THE-MODEL-ONLY",
  modelError: "PROVIDER-ERROR-TEXT",
  cause: "CAUSE-OF-A-TOOL-ERROR",
  thrown: "OBJECT-A-TOOL-THREW",
  policy: "WORDS-OF-A-BROKEN-POLICY",
  note: "INSTRUCTIONS-FOR-THE-MODEL",
} as const;

/** Fields of stored events that no response may name. */
const SERVER_FIELDS = ["salt", "toolHash", "inputText", "providerId", "opaque", "toModel", "bodyHash", "batch", "user"];

const user = { id: "clerk", name: "Clerk", session: PLANTED.user };

function leaky(): { server: Endpoint; bytes: string[]; send(request: Request): Promise<Response> } {
  const inputSchema = z.object({ orderId: z.string() });
  const tools = {
    look: tool({
      description: "Look.",
      inputSchema,
      readOnly: true,
      toModel: () => PLANTED.toModel,
      execute: (input) => input,
    }),
    refund: tool({ description: "Refund.", inputSchema, execute: () => ({ refunded: true }) }),
    breaks: tool({
      description: "Break.",
      inputSchema,
      readOnly: true,
      execute: () => {
        throw new Error("No stock.", { cause: new Error(PLANTED.cause) });
      },
    }),
    throws: tool({
      description: "Throw.",
      inputSchema,
      readOnly: true,
      execute: () => Promise.reject({ detail: PLANTED.thrown }),
    }),
    ruled: tool({
      description: "Ruled.",
      inputSchema,
      approval: () => {
        throw new Error(PLANTED.policy);
      },
      execute: () => "never",
    }),
  };
  const clock = fakeClock();
  const input = `{ "orderId": "1042", "more": "${PLANTED.inputText}" }`;
  const model = scriptedModel(
    [
      fail(new ModelError(PLANTED.modelError, { retryable: true, status: 500 })),
      calls(
        { type: "reasoning", text: PLANTED.reasoning },
        { type: "opaque", block: { origin: "test", data: PLANTED.opaque } },
        {
          type: "call",
          id: PLANTED.providerId,
          name: "look",
          input,
          opaque: [{ origin: "test", data: PLANTED.opaque }],
        },
        ...["breaks", "throws", "ruled", "refund", "refund"].map((name) => call(name, { orderId: "1042" })),
      ),
      fail(new ModelError(PLANTED.modelError, { retryable: false, status: 400 })),
      say("Went on."),
    ],
    { clock },
  );
  const agent = defineAgent({ model, tools, instructions: PLANTED.note });
  const server = endpoint({ agent, clock, http: { identify: async () => user } });
  const bytes: string[] = [];
  const send = async (request: Request): Promise<Response> => {
    const response = await server.handle(request);
    bytes.push(JSON.stringify([...response.headers]), await response.clone().text());
    return response;
  };
  return { server, bytes, send };
}

/** A whole run through every endpoint; what left the server, and the log. */
async function everything() {
  const { server, bytes, send } = leaky();
  const post = (path: string, body: unknown): Promise<Response> => send(jsonRequest(path, body));
  const { threadId } = await (await post("", { message: { text: "Go" }, key: "WRITE-KEY-1" })).json();
  const reading = send(new Request(`${BASE}/${threadId}/events`));
  await server.clock.advance(1_000);
  await reading;
  const snapshot = await (await send(new Request(`${BASE}/${threadId}`))).json();
  const turn = snapshot.thread.active[0].turn;
  const [first, second] = turn.calls.filter((each: { ask: unknown }) => each.ask);
  const decide = (decision: object, key: string): Promise<Response> =>
    post(`/${threadId}/decisions`, { decisions: [decision], key });
  await decide({ callId: first.callId, digest: "wrong", action: "approve" }, "WRITE-KEY-2");
  await decide(
    { callId: first.callId, digest: first.digest, action: "approve", input: { orderId: "7" } },
    "WRITE-KEY-3",
  );
  await decide({ callId: first.callId, digest: first.digest, action: "deny" }, "WRITE-KEY-4");
  await decide({ callId: second.callId, digest: second.digest, action: "deny", reason: "no" }, "WRITE-KEY-5");
  await server.clock.advance(10_000);
  const { runId } = snapshot.thread.active[0];
  await post(`/${threadId}/stop`, { runId, key: "WRITE-KEY-6" });
  await post(`/${threadId}/continue`, { runId, key: "WRITE-KEY-7" });
  await server.clock.advance(10_000);
  await post(`/${threadId}/title`, { title: "Mine", key: "WRITE-KEY-8" });
  await send(new Request(BASE));
  await send(new Request(`${BASE}/${threadId}`));
  await send(new Request(`${BASE}/${threadId}/events?after=99999`));
  const events = await server.events(threadId);
  for (let after = 0; after <= events.length; after++)
    await send(new Request(`${BASE}/${threadId}/events?after=${after}`));
  const read = await server.store.read(threadId);
  const batches = read && "events" in read ? read.events.map(({ batch }) => batch) : [];
  return { bytes, events, batches, log: JSON.stringify(events), errors: server.errors };
}

/** Every name of a field in a text that holds JSON. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/"([A-Za-z]+)":/g)].map(([, name]) => name ?? ""));
}

describe("what leaves the server in a whole run", () => {
  it("reaches every kind of event that carries something of the server", async () => {
    const { events, log } = await everything();
    for (const type of [
      "call-ready",
      "turn-ended",
      "attempt-failed",
      "decision-recorded",
      "call-judged",
      "run-resumed",
    ]) {
      expect(events.map((event) => event.type)).toContain(type);
    }
    for (const name of ["user", "reasoning", "opaque", "providerId", "inputText", "toModel"] as const) {
      expect(log, name).toContain(PLANTED[name]);
    }
  });

  it("holds nothing that was planted", async () => {
    const { bytes } = await everything();
    for (const text of bytes)
      for (const [name, planted] of Object.entries(PLANTED)) expect(text, name).not.toContain(planted);
  });

  it("names no field of the server", async () => {
    const { bytes } = await everything();
    for (const text of bytes) {
      const names = namesIn(text);
      for (const field of SERVER_FIELDS) expect(names.has(field), `${field} in ${text.slice(0, 200)}`).toBe(false);
    }
  });

  it("holds no salt, hash of a tool, driver, batch or key of the log", async () => {
    const { bytes, events, batches } = await everything();
    const values = new Set<string>(batches);
    for (const event of events) {
      if (event.type === "call-ready") values.add(event.salt).add(event.toolHash);
      if ("driverId" in event && event.driverId) values.add(event.driverId);
      if ("bodyHash" in event && event.bodyHash) values.add(event.bodyHash);
      if (event.type === "call-started") values.add(event.key);
    }
    values.delete("");
    expect(values.size).toBeGreaterThan(20);
    for (const text of bytes) for (const value of values) expect(text.includes(`"${value}"`), value).toBe(false);
    for (const text of bytes) expect(text).not.toContain("WRITE-KEY");
  });

  it("holds no stack and no path of a file", async () => {
    const { bytes } = await everything();
    for (const text of bytes) expect(text).not.toMatch(/\.ts:\d+|\bat [A-Za-z.]+ \(|file:\/\/|node_modules/);
  });

  it("keeps on the server, with its words, whatever went wrong", async () => {
    const { errors } = await everything();
    const said = errors.map((error) => String(error)).join("\n");
    for (const words of [PLANTED.modelError, PLANTED.policy, "No stock."]) expect(said).toContain(words);
  });
});

describe("a log that a store damaged", () => {
  it.each(["{", "[]", '{"type":"run-started"}'])(
    "%j is a 500 with a reference, and nothing of it leaves",
    async (data) => {
      const { server } = leaky();
      const { threadId } = await (await server.post("", { message: { text: "Go" }, key: "k" })).json();
      await server.clock.advance(0);
      const { store } = server.engine;
      const read = store.read.bind(store);
      const broken = endpoint({
        agent: await server.engine.agentFor({ id: "clerk" }),
        store: {
          ...store,
          async read(id, after) {
            const result = await read(id, after);
            if (!result || "gone" in result) return result;
            return {
              ...result,
              events: result.events.map((event, index) => (index === 1 ? { ...event, data } : event)),
            };
          },
        },
      });
      for (const path of ["", "/events"]) {
        const response = await broken.get(`/${threadId}${path}`);
        expect(response.status).toBe(500);
        expect(await response.json()).toEqual({
          error: { code: "internal", message: expect.any(String), reference: expect.any(String) },
        });
      }
      expect(broken.errors.length).toBeGreaterThan(0);
    },
  );
});
