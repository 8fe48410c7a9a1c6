import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ByteServer } from "./byte-server.ts";
import { startByteServer } from "./byte-server.ts";
import { fixture } from "./bytes.ts";
import type { Compatible, Dialect } from "./dialects.ts";
import { DIALECTS, GENERATIONS, modelOf } from "./dialects.ts";
import type { Played, Ran } from "./play.ts";
import { attemptsOf, eventsOfType, play } from "./play.ts";

let server: ByteServer;
beforeAll(async () => {
  server = await startByteServer();
});
afterAll(() => server.stop());

const FIRST: Ran = ["find_order", { orderId: "1042" }];
const SECOND: Ran = ["find_order", { orderId: "1043" }];

describe.each(GENERATIONS)("calls in real bytes, %s", (generation) => {
  /** Plays a fixture, then a text. */
  const after = async (speaks: Dialect | Compatible, name: string, settings: object = {}): Promise<Played> => {
    const dialect = DIALECTS.find((other) => other === speaks) ?? "openai-chat";
    server.answer(fixture(speaks, name), fixture(dialect, "text"));
    return play(modelOf(speaks, generation, { url: server.url }), settings);
  };
  const errorsIn = (played: Played) => eventsOfType(played, "call-settled").map(({ error }) => error?.code);

  it("[I+] Gemini's two equal calls are two", async () => {
    expect((await after("gemini", "same-call-twice")).ran).toEqual([FIRST, FIRST]);
  });

  it("[I02] Ollama's calls, all of them at index 0, are two", async () => {
    expect((await after("ollama", "two-calls-one-index")).ran).toEqual([FIRST, SECOND]);
    expect((await after("ollama", "one-id-for-all")).ran).toEqual([FIRST, SECOND]);
  });

  it("[I02] where a package glues the arguments of two calls at one index, neither runs on them", async () => {
    const played = await after("ollama", "two-calls-one-index-in-pieces");
    if (generation === "v4") return expect(played.ran).toEqual([FIRST, SECOND]);
    const [ready] = eventsOfType(played, "call-ready");
    expect(ready?.inputText).toBe('{"orderId":"1042"}{"orderId":"1043"}'); // what the package made of it
    expect([played.ran, errorsIn(played), played.status]).toEqual([[], ["invalid-input"], "done"]);
  });

  it("[I02] where a package takes a second start for more of the first call, nothing runs on empty arguments", async () => {
    expect((await after("ollama", "two-starts-one-index")).ran).toEqual([["list_orders", { status: "paid" }]]);
  });

  it("[I06] an id in every piece is one id", async () => {
    const played = await after("openai-chat", "id-in-every-piece");
    expect(played.ran).toEqual([FIRST]);
    expect(eventsOfType(played, "call-ready")).toMatchObject([{ providerId: "call_a" }]);
  });

  it("[I09] two calls in one chunk are two", async () => {
    expect((await after("openai-chat", "two-calls-at-once")).ran).toEqual([FIRST, SECOND]);
    expect((await after("mistral", "two-calls-without-index")).ran).toEqual([FIRST, SECOND]);
  });

  it("[I14] Anthropic's empty first piece of arguments has no effect", async () => {
    const played = await after("anthropic", "one-call");
    expect(played.ran).toEqual([FIRST]);
    expect(eventsOfType(played, "call-input-added").every(({ text }) => text !== "")).toBe(true);
  });

  it.each(["openai-chat", "openai-responses", "anthropic"] as const)(
    "[I15] %s: pieces of arguments are read as one text",
    async (dialect) => {
      expect((await after(dialect, "split-arguments")).ran).toEqual([
        ["find_order", { orderId: "1042", note: 'café "né" 🙂' }],
      ]);
    },
  );

  it.each([
    ["openai-chat", "length-in-arguments"],
    ["openai-chat", "length-before-arguments"],
    ["openai-responses", "length-in-arguments"],
    ["anthropic", "length-in-arguments"],
    ["anthropic", "length-before-arguments"],
  ] as const)("[I20] %s: %s runs nothing, and the model is told why", async (dialect, name) => {
    const played = await after(dialect, name);
    expect([played.ran, errorsIn(played)]).toEqual([[], ["invalid-input"]]);
    expect(JSON.stringify(server.sent[1]?.body)).toMatch(
      /limit of length before the arguments of (find_order|list_orders) were whole/,
    );
  });

  it.each(["openai-chat", "openai-responses", "anthropic"] as const)(
    "[I21] %s: broken arguments are an error result, and the run goes on",
    async (dialect) => {
      const played = await after(dialect, "malformed-arguments");
      expect([played.ran, errorsIn(played), played.status]).toEqual([[], ["invalid-input"], "done"]);
      expect(JSON.stringify(server.sent[1]?.body)).toContain("not valid JSON");
    },
  );

  it("[I22] a call that a server left in the text is text", async () => {
    const played = await after("openai-chat", "call-as-text");
    expect(played.result?.text).toContain("<tool_call>");
    expect(played.ran).toEqual([]);
  });

  it("[I23] a list as arguments is an error result, now and in the next request", async () => {
    const played = await after("openai-chat", "list-as-arguments");
    expect([played.ran, errorsIn(played), played.status]).toEqual([[], ["invalid-input"], "done"]);
  });

  it("[I24] a call that a server sends again after its result ends at the limit of repeats", async () => {
    const again = fixture("ollama", "finish-stop-with-call");
    server.answer(again);
    const played = await play(modelOf("ollama", generation, { url: server.url }));
    expect(played).toMatchObject({ status: "incomplete", result: { limit: "repeats" } });
    expect(attemptsOf(played)).toBe(6);
    expect(new Set(eventsOfType(played, "call-ready").map(({ callId }) => callId)).size).toBe(6);
  });

  it.each(["openai-responses", "anthropic", "gemini"] as const)(
    "[I25] %s: what the provider ran itself is not run here, and the run ends",
    async (dialect) => {
      const played = await after(dialect, "provider-executed");
      expect(played).toMatchObject({ status: "done", ran: [], result: { text: "Hello there." } });
      expect(attemptsOf(played)).toBe(1);
    },
  );
});
