import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineAgent } from "../../../src/agent/define-agent.ts";
import { runAgent } from "../../../src/loop/run-agent.ts";
import { toModel } from "../../../src/model/ai-sdk.ts";
import type { ModelPart } from "../../../src/model/model.ts";
import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { clerk, endpoint } from "../../server/endpoint.ts";
import { foldStream, readStream } from "../../server/sse.ts";
import { ask, readAll } from "../read-all.ts";
import type { ByteServer } from "./byte-server.ts";
import { startByteServer } from "./byte-server.ts";
import type { Answer, Travel } from "./bytes.ts";
import { answerOf, fetchOf, fixture } from "./bytes.ts";
import type { Dialect } from "./dialects.ts";
import { DIALECTS, GENERATIONS, modelOf } from "./dialects.ts";
import type { Played, Ran } from "./play.ts";
import { attemptsOf, clerksTools, eventsOfType, play } from "./play.ts";

let server: ByteServer;
beforeAll(async () => {
  server = await startByteServer();
});
afterAll(() => server.stop());

const FIRST: Ran = ["find_order", { orderId: "1042" }];

/** Plays fixtures in turn, the last one again and again, over HTTP. */
async function over(dialect: Dialect, generation: (typeof GENERATIONS)[number], ...names: string[]): Promise<Played> {
  const [first, ...rest] = names.map((name) => fixture(dialect, name));
  if (!first) throw new Error("Nothing to play.");
  server.answer(first, ...rest);
  return play(modelOf(dialect, generation, { url: server.url }));
}

/** For tests that play a run many times, on a machine that does much else. */
const OFTEN = { timeout: 60_000 };

/** Bytes at even distances inside an answer, as many as said. */
function places({ pieces: [body] }: Answer, many: number): readonly number[] {
  const length = body?.length ?? 0;
  return Array.from({ length: many }, (_, n) => 1 + Math.floor((n * (length - 2)) / (many - 1)));
}

/** Packages make up ids where a provider gives none. */
const withoutId = (part: ModelPart): object => ({ ...part, id: undefined });

const eachWay = DIALECTS.flatMap((dialect) => GENERATIONS.map((generation) => ({ dialect, generation })));

describe("bytes on their way", () => {
  const travels: readonly (readonly [string, Travel])[] = [
    ["[W+] as the provider wrote them", {}],
    ["[W01] with CRLF", { lineEnd: "\r\n" }],
    ["[W01] behind a byte order mark", { mark: true }],
    ["[W06] byte by byte", { splits: 1 }],
    ["[W01 W06] byte by byte with CRLF", { splits: 1, lineEnd: "\r\n" }],
  ];

  describe.each(eachWay)("$dialect, $generation", ({ dialect, generation }) => {
    it.each(travels)("%s, a call is the same call", async (_title, travel) => {
      server.answer(fixture(dialect, "one-call", travel), fixture(dialect, "text", travel));
      const played = await play(modelOf(dialect, generation, { url: server.url }));
      expect(played).toMatchObject({ status: "done", ran: [FIRST], result: { text: "Hello there." } });
      expect(attemptsOf(played)).toBe(2);
    });
  });

  it.each(eachWay)(
    "[W06] cut in two anywhere, an answer is the same answer: $dialect, $generation",
    OFTEN,
    async (way) => {
      const read = async (splits: number[]) => {
        const fetch = fetchOf(fixture(way.dialect, "one-call", { splits }));
        const model = toModel(modelOf(way.dialect, way.generation, { url: "http://in.process", fetch }));
        return (await readAll(model, ask("hi"))).filter(({ type }) => type === "call" || type === "end");
      };
      const whole = await read([]);
      expect(whole).toMatchObject([{ type: "call", name: "find_order" }, { type: "end" }]);
      for (const at of places(fixture(way.dialect, "one-call"), 60)) {
        expect((await read([at])).map(withoutId), `at byte ${at}`).toEqual(whole.map(withoutId));
      }
    },
  );

  it.each(eachWay)(
    "[W01] with CR alone a package may lose the last event, and then nothing runs: $dialect, $generation",
    async (way) => {
      const first = fixture(way.dialect, "one-call", { lineEnd: "\r" });
      server.answer(first, fixture(way.dialect, "text"));
      const played = await play(modelOf(way.dialect, way.generation, { url: server.url }));
      expect(played.status).toBe("done");
      expect(played.ran).toEqual(way.dialect === "openai-chat" ? [FIRST] : []);
    },
  );

  it.each(eachWay)("[W01] with CRLF, text is there before the next event: $dialect, $generation", async (way) => {
    const whole = fixture(way.dialect, "text", { lineEnd: "\r\n" }).pieces[0] ?? new Uint8Array();
    const cutAt = new TextDecoder().decode(whole).indexOf('Hello"');
    const blank = new TextDecoder().decode(whole).indexOf("\r\n\r\n", cutAt) + 4;
    server.answer(fixture(way.dialect, "text", { lineEnd: "\r\n", cutAt: blank, ending: "hang" }));
    const stop = new AbortController();
    const seen: string[] = [];
    const played = await play(
      modelOf(way.dialect, way.generation, { url: server.url }),
      {},
      {
        signal: stop.signal,
        onText: (text) => {
          seen.push(text);
          stop.abort();
        },
      },
    );
    expect(seen).toEqual(["Hello"]);
    expect(played.status).toBe("aborted");
    await server.closed; // a stop closes the provider's connection
  });
});

describe.each(eachWay)("$dialect, $generation: answers that are none", ({ dialect, generation }) => {
  it("[W12] broken JSON in a data line fails the attempt, whatever end follows, and runs nothing", async () => {
    const played = await over(dialect, generation, "garbage-line");
    expect(played).toMatchObject({ status: "error", ran: [] });
    expect(attemptsOf(played)).toBe(3);
  });

  it.each(["length", "no-end", "error-then-end"])("an answer like %s is never a success", async (name) => {
    const played = await over(dialect, generation, name);
    expect(["incomplete", "error"]).toContain(played.status);
    expect(eventsOfType(played, "run-ended")[0]?.outcome).toBe(name === "length" ? "limited" : "failed");
  });

  it("[W20] a connection that breaks in the middle is a typed failure, tried again, and its text gives way", async () => {
    const { length } = fixture(dialect, "text").pieces[0] ?? [];
    const half = fixture(dialect, "text", { cutAt: (length ?? 0) - 20, ending: "cut" });
    server.answer(half, fixture(dialect, "text"));
    const played = await play(modelOf(dialect, generation, { url: server.url }));
    expect(played).toMatchObject({ status: "done", result: { text: "Hello there." } });
    expect(eventsOfType(played, "attempt-failed")).toMatchObject([
      { error: { code: "model-failed", message: "The model did not answer." }, retryAt: expect.any(Number) },
    ]);
    expect(played.errors).toMatchObject([{ name: "ModelError", retryable: true, status: undefined }]);
  });

  it("[W12] an end of the stream anywhere runs nothing before the answer's own end", OFTEN, async () => {
    const whole = fixture(dialect, "one-call");
    const end = new TextDecoder()
      .decode(whole.pieces[0])
      .search(/"finish_reason":"tool_calls"|response.completed"|"stop_reason":"tool_use"|"finishReason"/);
    for (const cutAt of places(whole, 15)) {
      const fetch = fetchOf(fixture(dialect, "one-call", { cutAt }), fixture(dialect, "text"));
      const played = await play(modelOf(dialect, generation, { url: "http://in.process", fetch }));
      expect(cutAt < end ? [[]] : [[], [FIRST]], `cut at byte ${cutAt}`).toContainEqual(played.ran);
      expect(played.status).toBe("done");
    }
  });

  it("[W19] 429 with Retry-After is waited for, then tried once, and what ran does not run again", async () => {
    const busy = fixture(dialect, "rate-limited", { status: 429, headers: { "retry-after": "2" } });
    server.answer(busy, fixture(dialect, "one-call"), busy, fixture(dialect, "text"));
    const played = await play(modelOf(dialect, generation, { url: server.url }));
    expect(played).toMatchObject({ status: "done", ran: [FIRST], result: { text: "Hello there." } });
    expect(server.sent).toHaveLength(4);
    expect(played.errors).toMatchObject([{ retryAfterMs: 2_000 }, { retryAfterMs: 2_000 }]);
    const again = eventsOfType(played, "turn-started").filter(({ attempt }) => attempt === 2);
    const waits = eventsOfType(played, "attempt-failed").map(({ retryAt = 0 }) => retryAt);
    expect(again.map(({ at }, index) => at >= (waits[index] ?? 0))).toEqual([true, true]);
  });

  it("[W19] a stop ends the wait for another attempt at once", async () => {
    server.answer(fixture(dialect, "rate-limited", { status: 429, headers: { "retry-after": "1000000" } }));
    const stop = new AbortController();
    const onEvent = ({ type }: ThreadEvent): void => {
      if (type === "attempt-failed") setImmediate(() => stop.abort());
    };
    const played = await play(
      modelOf(dialect, generation, { url: server.url }),
      { limits: { timeMs: 2_000_000_000 } },
      { signal: stop.signal, onEvent },
    );
    expect(played.status).toBe("aborted");
    const [failure] = eventsOfType(played, "attempt-failed");
    expect((failure?.retryAt ?? 0) - (failure?.at ?? 0)).toBeGreaterThan(900_000_000); // as long as the provider asked
    expect(server.sent).toHaveLength(1);
  });

  it("500 in the middle of a run is tried again, and what ran does not run again", async () => {
    const broken = fixture(dialect, "failed", { status: 500 });
    server.answer(fixture(dialect, "one-call"), broken, fixture(dialect, "text"));
    const played = await play(modelOf(dialect, generation, { url: server.url }));
    expect(played).toMatchObject({ status: "done", ran: [FIRST] });
    expect(server.sent).toHaveLength(3);
  });

  it("a refusal of the request is not tried again", async () => {
    server.answer(fixture(dialect, "refused", { status: 400 }));
    const played = await play(modelOf(dialect, generation, { url: server.url }));
    expect(played.status).toBe("error");
    expect(server.sent).toHaveLength(1);
  });

  it.each([
    ["before the first part", 0],
    ["between two parts", 0.6],
  ])("silence %s is a failed attempt, and the next one counts", async (_title, share) => {
    const { length } = fixture(dialect, "text").pieces[0] ?? [];
    const silent = fixture(dialect, "text", { cutAt: Math.round((length ?? 0) * share), ending: "hang" });
    server.answer(silent, fixture(dialect, "text"));
    const played = await play(modelOf(dialect, generation, { url: server.url }), { modelSilenceMs: 20_000 });
    expect(played).toMatchObject({ status: "done", result: { text: "Hello there." } });
    expect(eventsOfType(played, "attempt-failed")).toMatchObject([{ error: { code: "model-timed-out" } }]);
  });
});

describe("through the endpoint", () => {
  const shop = (dialect: Dialect, more: object = {}) => {
    const ran: Ran[] = [];
    const model = modelOf(dialect, "v3", { url: server.url });
    return { ran, ...endpoint({ agent: defineAgent({ model, tools: clerksTools(ran), ...more }) }) };
  };
  it.each(DIALECTS)(
    "[W15] a refusal before the first byte reaches a reader as an end of the run: %s",
    async (dialect) => {
      server.answer(fixture(dialect, "refused", { status: 400 }));
      const app = shop(dialect);
      const { threadId } = await app.send({ user: clerk, message: "Go" });
      const response = await app.get(`/${threadId}/events?after=0`);
      const text = await response.text();
      expect(foldStream(text, threadId).runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
      expect(text).not.toMatch(/Invalid schema|input_schema|Unknown name/); // a provider's own text stays on the server
    },
  );

  it.each(DIALECTS)(
    "[W22] a failure of ours after two events ends the stream with the run's end: %s",
    async (dialect) => {
      const { length } = fixture(dialect, "text").pieces[0] ?? [];
      server.answer(fixture(dialect, "text", { cutAt: (length ?? 0) - 20, ending: "cut" }));
      const app = shop(dialect, { modelAttempts: 1 });
      const { threadId } = await app.send({ user: clerk, message: "Go" });
      const text = await (await app.get(`/${threadId}/events?after=0`)).text();
      const thread = foldStream(text, threadId);
      expect(thread.runs[0]).toMatchObject({ outcome: "failed", code: "model-failed" });
      expect(text).toContain("text-added");
    },
  );

  it.each(DIALECTS)(
    "[W16] arguments withheld for 90 s come through, and readers hear from us meanwhile: %s",
    async (dialect) => {
      let open: () => void = () => undefined;
      const gate = { before: 1, open: new Promise<void>((resolve) => (open = resolve)) };
      const body = new TextDecoder().decode(fixture(dialect, "one-call").pieces[0]);
      const at = new TextEncoder().encode(body.slice(0, body.indexOf("look.") + 5)).length;
      const blank = body.indexOf("\n\n", at) + 2;
      server.answer(fixture(dialect, "one-call", { splits: [blank], gate }), fixture(dialect, "text"));
      const app = shop(dialect, { modelSilenceMs: 120_000 });
      const { threadId } = await app.send({ user: clerk, message: "Go" });
      const reader = readStream(await app.get(`/${threadId}/events?after=0`));
      const reading = reader.rest();
      while (!reader.text.includes("look")) await app.clock.advance(0);
      const heard = reader.text.length;
      for (let second = 0; second < 90; second += 15) await app.clock.advance(15_000);
      open();
      while (!reader.done) await app.clock.advance(0);
      const text = await reading;
      expect(text.slice(heard).match(/^:/gm)?.length).toBeGreaterThanOrEqual(6);
      expect(app.ran).toEqual([FIRST]);
      expect((await app.thread(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Hello there." });
      expect(server.sent).toHaveLength(2);
    },
  );
});

describe("what one chunk may hold", () => {
  it.each(GENERATIONS)("[W14] an empty list of calls beside text is text: %s", async (generation) => {
    const played = await over("openai-chat", generation, "empty-list-of-calls");
    expect(played).toMatchObject({ status: "done", ran: [], result: { text: "Hello there." } });
    expect(eventsOfType(played, "call-proposed")).toEqual([]);
  });

  it.each([
    ["openai-chat", "usage-with-text", 50],
    ["openai-chat", "usage", 50],
    ["gemini", "usage", 50],
    ["gemini", "usage-after", 50],
  ] as const)(
    "[W17] text and usage both count, in one chunk or in a chunk of its own: %s %s",
    async (dialect, name, outputTokens) => {
      for (const generation of ["v3", "v4"] as const) {
        const played = await over(dialect, generation, name);
        expect(played.result).toMatchObject({ text: "Hello there.", usage: { inputTokens: 100, outputTokens } });
      }
    },
  );

  it.each(GENERATIONS)(
    "[W23] a body of plain JSON is no stream: the run ends with a failure, and nobody waits: %s",
    async (generation) => {
      const played = await over("openai-chat", generation, "not-a-stream");
      expect(played).toMatchObject({ status: "error", ran: [] });
      expect(attemptsOf(played)).toBe(3);
    },
  );
});

describe("[W21] 16,000 deltas of one character", () => {
  const args = `{"orderId":"${"1".repeat(16_000)}"}`;
  const start = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...start, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const piece = (text: string, more: object = {}): string =>
    chunk({ tool_calls: [{ index: 0, ...more, function: { ...more, arguments: text } }] });
  const body = [
    piece("", { id: "call_a", type: "function", name: "find_order" }),
    ...[...args].map((character) => piece(character)),
    chunk({}, "tool_calls"),
    "data: [DONE]\n\n",
  ].join("");

  it("are one call, and its arguments are parsed a few times, not once for each delta", OFTEN, async () => {
    const { parse } = JSON;
    let long = 0;
    // A spy of the test runner's keeps every text it sees.
    JSON.parse = (text, reviver) => {
      if (text.length > 1_000) long++;
      return parse(text, reviver);
    };
    const ran: Ran[] = [];
    try {
      const answer = answerOf(body, { headers: { "content-type": "text/event-stream" }, splits: 16_384 });
      const fetch = fetchOf(answer, fixture("openai-chat", "text"));
      const model = modelOf("openai-chat", "v3", { url: "http://in.process", fetch });
      await runAgent(defineAgent({ model, tools: clerksTools(ran) }), "Where is my order?");
    } finally {
      JSON.parse = parse;
    }
    expect(ran).toEqual([["find_order", { orderId: "1".repeat(16_000) }]]);
    expect(long).toBeLessThanOrEqual(12);
  });
});
