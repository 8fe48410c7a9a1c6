import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ByteServer } from "./byte-server.ts";
import { startByteServer } from "./byte-server.ts";
import { fixture, fixturesOf } from "./bytes.ts";
import type { Compatible, Dialect, Generation } from "./dialects.ts";
import { COMPATIBLE, DIALECTS, GENERATIONS, modelOf } from "./dialects.ts";
import type { Played, Ran } from "./play.ts";
import { attemptsOf, eventsOfType, play } from "./play.ts";

/** What becomes of a run whose first answer is a fixture; the next one, if it is asked for, is a text. */
interface Outcome {
  readonly status: Played["status"];
  readonly text?: string;
  readonly ran: readonly Ran[];
  /** Model calls, further attempts included. */
  readonly calls: number;
}

const answered: Outcome = { status: "done", text: "Hello there.", ran: [], calls: 1 };
const failed: Outcome = { status: "error", ran: [], calls: 3 };
const ran = (...calls: readonly Ran[]): Outcome => ({ status: "done", text: "Hello there.", ran: calls, calls: 2 });
/** A call that the model is told about, and that nothing is run for. */
const refused = ran();
const capped: Outcome = { status: "incomplete", text: "The order is", ran: [], calls: 1 };
const filtered: Outcome = { ...answered, text: "I" };

const FIRST: Ran = ["find_order", { orderId: "1042" }];
const SECOND: Ran = ["find_order", { orderId: "1043" }];
const PAID: Ran = ["list_orders", { status: "paid" }];
const PING: Ran = ["ping", {}];
const NOTED: Ran = ["find_order", { orderId: "1042", note: 'café "né" 🙂' }];

/** The same in every dialect. */
const EVERYWHERE: Readonly<Record<string, Outcome>> = {
  text: answered,
  "one-call": ran(FIRST),
  "two-calls": ran(FIRST, SECOND),
  "two-calls-at-once": ran(FIRST, SECOND),
  "two-calls-interleaved": ran(FIRST, SECOND),
  "two-calls-apart": ran(FIRST, SECOND),
  "same-call-twice": ran(FIRST, FIRST),
  "split-arguments": ran(NOTED),
  "no-arguments": ran(PING),
  "no-arguments-at-all": ran(PING),
  "cut-arguments": failed,
  "cut-before-arguments": failed,
  "cut-partial-arguments": failed,
  length: capped,
  "length-in-arguments": refused,
  "length-before-arguments": refused,
  "length-in-partial-arguments": failed,
  "error-in-band": failed,
  "error-then-end": failed,
  "error-twice": failed,
  "error-then-call": failed,
  "error-of-old": failed,
  "error-with-200": failed,
  "failed-in-band": failed,
  "no-end": failed,
  "no-end-after-call": failed,
  "no-done": answered,
  "no-stop-event": failed,
  usage: answered,
  "usage-with-text": answered,
  "usage-after": answered,
  reasoning: ran(FIRST),
  "reasoning-empty": ran(FIRST),
  "unknown-events": answered,
  "keep-alive": answered,
  "empty-list-of-calls": answered,
  "garbage-line": failed,
  "garbage-then-cut": failed,
  "id-in-every-piece": ran(FIRST),
  "malformed-arguments": refused,
  "malformed-call": failed,
  "list-as-arguments": refused,
  "finish-stop-with-call": ran(FIRST),
  "call-as-text": { ...answered, text: '<tool_call>{"name":"find_order","arguments":{"orderId":"1042"}}</tool_call>' },
  "provider-executed": answered,
  refusal: filtered,
  safety: filtered,
  "not-a-stream": failed,
  "two-calls-one-index": ran(FIRST, SECOND),
  "two-tools-one-index": ran(FIRST, PAID),
  "one-id-for-all": ran(FIRST, SECOND),
  "two-calls-without-index": ran(FIRST, SECOND),
  "null-id": ran(FIRST),
  "two-null-ids": ran(FIRST, SECOND),
};

/** Where a package of the AI SDK loses something: never more than was asked for, and nothing else. docs/models.md names it. */
const LOST: Readonly<Record<string, Partial<Record<Generation, Outcome>>>> = {
  // Arguments of the second call are glued to those of the first: no JSON, so nothing runs.
  "ollama/two-calls-one-index-in-pieces": { v2: refused, v3: refused, v4: ran(FIRST, SECOND) },
  // The second start is taken for more of the first call.
  "ollama/two-starts-one-index": { v2: ran(PAID), v3: ran(PAID), v4: ran(PAID) },
  // The package knows neither pieces of arguments nor a call without them, and reports an empty answer.
  "gemini/split-arguments": { v2: { ...answered, text: "" } },
  "gemini/no-arguments-at-all": { v2: { ...answered, text: "" } },
  "gemini/length-in-partial-arguments": { v2: { ...capped, text: "" } },
  // Half an item that the package never ends: the attempt fails, since nobody knows what was meant.
  "openai-responses/length-before-arguments": { v2: failed, v3: failed, v4: failed },
};

const SPEAKERS = [...DIALECTS, ...COMPATIBLE] as const;
/** Bodies of refused requests; `wire.test.ts` has them. */
const REFUSALS = ["rate-limited", "refused", "failed"];
const streams = (speaks: Dialect | Compatible): readonly string[] =>
  fixturesOf(speaks).filter((name) => !REFUSALS.includes(name));

const outcomeOf = (speaks: Dialect | Compatible, name: string, generation: Generation): Outcome => {
  const outcome = LOST[`${speaks}/${name}`]?.[generation] ?? EVERYWHERE[name];
  if (!outcome) throw new Error(`No outcome is written down for ${speaks}/${name}.`);
  const isGemini = speaks === "gemini" && name === "split-arguments" && outcome === EVERYWHERE[name];
  return isGemini ? ran(["find_order", { orderId: "1042", note: "café 🙂" }]) : outcome;
};

let server: ByteServer;
beforeAll(async () => {
  server = await startByteServer();
});
afterAll(() => server.stop());

/** The text that follows a fixture of calls. */
const answerIn = (speaks: Dialect | Compatible): Dialect =>
  DIALECTS.find((dialect) => dialect === speaks) ?? "openai-chat";

describe.each(SPEAKERS)("%s", (speaks) => {
  describe.each(GENERATIONS)("through the AI SDK's package of spec %s", (generation) => {
    it.each(streams(speaks))("%s", async (name) => {
      const outcome = outcomeOf(speaks, name, generation);
      const first = fixture(speaks, name);
      server.answer(first, outcome.status === "error" ? first : fixture(answerIn(speaks), "text"));
      const played = await play(modelOf(speaks, generation, { url: server.url }));
      expect(played.ran).toEqual(outcome.ran);
      expect(played.status).toBe(outcome.status);
      expect(attemptsOf(played)).toBe(outcome.calls);
      if (outcome.text !== undefined) expect(played.result?.text).toBe(outcome.text);
      expect(server.sent).toHaveLength(outcome.calls);
      if (name === "usage" || name.startsWith("usage-")) expect(usageOf(played)).toEqual(counted(speaks, generation));
    });
  });
});

function usageOf(played: Played): unknown {
  return eventsOfType(played, "turn-ended")[0]?.usage;
}

/** What every fixture of usage says: 100 read, 64 of them from a cache, 50 written, 20 of them reasoning. */
function counted(speaks: Dialect | Compatible, generation: Generation): object {
  const whole = { inputTokens: 100, outputTokens: 50, cachedInputTokens: 64, reasoningTokens: 20 };
  const { reasoningTokens: _, ...withoutReasoning } = whole;
  // Anthropic counts no reasoning. The oldest packages count what was not cached, and what was no reasoning.
  if (speaks === "anthropic") return { ...withoutReasoning, ...(generation === "v2" && { inputTokens: 36 }) };
  return speaks === "gemini" && generation === "v2" ? { ...whole, outputTokens: 30 } : whole;
}

describe("the fixtures", () => {
  it("are as many as are written down, and each outcome is used", () => {
    const all = SPEAKERS.flatMap((speaks) => streams(speaks).map((name) => `${speaks}/${name}`));
    const names = new Set(all.map((path) => path.split("/")[1]));
    expect(Object.keys(EVERYWHERE).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.keys(LOST).filter((path) => !all.includes(path))).toEqual([]);
    expect(all.length).toBe(123);
  });
});
