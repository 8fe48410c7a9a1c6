import { afterEach, describe, expect, it, test, vi } from "vitest";
import { handlerCases, handlerConformance, runHandlerCase } from "../../src/testing/handler-conformance.ts";
import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";
import type { Handler } from "./broken-handlers.ts";
import { brokenHandlers } from "./broken-handlers.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const SOON = { patienceMs: 500 };

const mounted = (fetch: Handler) => ({ url: "https://shop.test/api/toolrun", fetch, close: () => undefined });

function caseOf(words: string): (typeof handlerCases)[number] {
  const [found, ...others] = handlerCases.filter(({ name }) => name.includes(words));
  if (!found || others.length > 0) throw new Error(`${others.length + (found ? 1 : 0)} cases say "${words}"`);
  return found;
}

handlerConformance("in this process", async () => mounted(handlerUnderTest().GET), { describe, it });

const ALONE = "although nobody looks";

describe("the suite sees", () => {
  test.each(brokenHandlers.map((each) => [each.rule, each] as const))("%s", async (_rule, { seenBy, plant }) => {
    for (const [words, says] of Object.entries(seenBy)) {
      const run = runHandlerCase(caseOf(words), async () => mounted(plant(handlerUnderTest().GET)), SOON);
      await expect(run, words).rejects.toThrow(says);
    }
  });

  test("a platform whose requests end with their answer, where nobody said waitUntil", async () => {
    vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "shop");
    const run = (options: Parameters<typeof handlerUnderTest>[0]) =>
      runHandlerCase(caseOf(ALONE), async () => mounted(handlerUnderTest(options).GET), SOON);
    await expect(run({})).rejects.toThrow('expected "ended"');
    await run({ waitUntil: () => undefined });
  });

  test("something with every case", () => {
    const seen = new Set([...brokenHandlers.flatMap(({ seenBy }) => Object.keys(seenBy)), ALONE].map(caseOf));
    expect(handlerCases.filter((each) => !seen.has(each)).map(({ name }) => name)).toEqual([]);
  });
});
