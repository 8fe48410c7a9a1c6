import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DIALECTS, GENERATIONS, modelOf } from "./dialects.ts";
import { attemptsOf, eventsOfType, play } from "./play.ts";

/** A mock of whole providers, made by others: it agrees with our bytes where both say the same. */
const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });

const CALLS = {
  content: "Let me look.",
  toolCalls: [
    { id: "call_a", name: "find_order", arguments: '{"orderId":"1042"}' },
    { id: "call_b", name: "list_orders", arguments: '{"status":"paid"}' },
  ],
};
const LONG = "One two three four five six seven eight.";

beforeAll(async () => {
  await mock.start();
});
afterAll(() => mock.stop());
beforeEach(() => {
  mock.clearRequests();
  mock.clearFixtures();
  mock.on({ hasToolResult: true }, { content: "Done." });
});

/** aimock ends Gemini's calls with a word that the oldest package does not know, and that looks like no end at all. */
const isReadable = (dialect: string, generation: string): boolean => dialect !== "gemini" || generation !== "v2";

const eachWay = DIALECTS.flatMap((dialect) => GENERATIONS.map((generation) => ({ dialect, generation })));

describe.each(eachWay.filter(({ dialect, generation }) => isReadable(dialect, generation)))(
  "$dialect, $generation, over aimock",
  ({ dialect, generation }) => {
    const start = (settings: object = {}) => play(modelOf(dialect, generation, { url: mock.url }), settings);

    it("two parallel calls run once each, and the next request has both results", async () => {
      mock.on({ hasToolResult: false }, CALLS, { chunkSize: 3 });
      const played = await start();
      expect(played).toMatchObject({ status: "done", result: { text: "Done." } });
      expect(played.ran).toEqual([
        ["find_order", { orderId: "1042" }],
        ["list_orders", { status: "paid" }],
      ]);
      expect(mock.getRequests()).toHaveLength(2);
    });

    it("429 with Retry-After is waited for, then the run goes on", async () => {
      mock.on({ hasToolResult: false }, CALLS);
      mock.nextRequestError(429, { message: "slow down", type: "rate_limit_error" });
      const played = await start();
      expect(played).toMatchObject({ status: "done", result: { text: "Done." } });
      expect(played.ran).toHaveLength(2);
      expect(played.errors).toMatchObject([{ name: "ModelError", status: 429, retryable: true }]);
    });

    it.each([
      ["truncated", { truncateAfterChunks: 3 }],
      ["disconnected", { disconnectAfterMs: 60 }],
    ])("an answer that is %s is never a success, and never a call", async (_title, how) => {
      mock.on({ hasToolResult: false }, { ...CALLS, content: LONG }, { chunkSize: 4, latency: 15, ...how });
      const played = await start();
      expect(played).toMatchObject({ status: "error", ran: [] });
      expect(attemptsOf(played)).toBe(3);
      expect(eventsOfType(played, "run-ended")).toMatchObject([{ outcome: "failed", code: "model-failed" }]);
    });
  },
);

it("an end in a word that a package of spec v2 does not know is a failed attempt, and nothing runs", async () => {
  mock.on({ hasToolResult: false }, CALLS);
  const played = await play(modelOf("gemini", "v2", { url: mock.url }));
  expect(played).toMatchObject({ status: "error", ran: [] });
});
