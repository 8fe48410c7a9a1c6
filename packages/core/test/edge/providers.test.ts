import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fetchOf, fixture } from "../model/providers/bytes.ts";
import type { Compatible, Dialect } from "../model/providers/dialects.ts";
import { DIALECTS, GENERATIONS, modelOf } from "../model/providers/dialects.ts";
import { play } from "../model/providers/play.ts";

/** What the test runner leaves lying about in the sandbox. */
const NODE_GLOBALS = ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"];

beforeEach(() => {
  for (const name of NODE_GLOBALS) vi.stubGlobal(name, undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const CASES: readonly (readonly [Dialect | Compatible, string, number])[] = [
  ...DIALECTS.map((dialect) => [dialect, "text", 0] as const),
  ...DIALECTS.map((dialect) => [dialect, "one-call", 1] as const),
  ...DIALECTS.map((dialect) => [dialect, "two-calls", 2] as const),
  ...DIALECTS.map((dialect) => [dialect, "error-then-end", 0] as const),
  ...DIALECTS.map((dialect) => [dialect, "no-end", 0] as const),
  ["anthropic", "reasoning", 1],
  ["ollama", "two-calls-one-index", 2],
  ["deepseek", "reasoning", 1],
];

describe.each(GENERATIONS)("provider packages of spec %s where only web standards are", (generation) => {
  it.each(CASES)("%s, %s", async (speaks, name, ran) => {
    const answers = DIALECTS.find((dialect) => dialect === speaks) ?? "openai-chat";
    const fails = name === "error-then-end" || name === "no-end";
    const first = fixture(speaks, name, { splits: 100 });
    const fetch = fetchOf(first, fails ? first : fixture(answers, "text"));
    const played = await play(modelOf(speaks, generation, { url: "http://in.process", fetch }));
    expect(played.ran).toHaveLength(ran);
    expect(played.status).toBe(fails ? "error" : "done");
  });
});
