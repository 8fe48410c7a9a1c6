import { describe, expect, test, vi } from "vitest";
import type { ResultOptions, ResultWork } from "../../src/model/shape-result.ts";
import { checkResultOptions, MAX_RESULT_CHARS, shapeResult } from "../../src/model/shape-result.ts";
import type { Json } from "../../src/protocol/values.ts";

const INFO = { tool: "look", input: { page: 1 }, question: "How many?" };

/** What surrounds one result; `errors` has what was reported. */
function work(more: Partial<ResultWork> = {}): ResultWork & { readonly errors: unknown[] } {
  const errors: unknown[] = [];
  return { ...INFO, encode: (value) => value as Json, onError: (error) => errors.push(error), errors, ...more };
}

const SMALL = { rows: [1, 2] };
/** 16,000 tokens of text. */
const LARGE = "y".repeat(64_000);
const bad = (value: unknown): never => value as never;

describe("the model reads", () => {
  test.each<[string, Json, ResultOptions, Json | undefined]>([
    ["the output, by default", SMALL, {}, undefined],
    ["false", false, {}, undefined],
    ["null", null, {}, undefined],
    ["an empty text", "", {}, undefined],
    ["what process makes of it", SMALL, { process: () => "two rows" }, "two rows"],
    ["null where process says null", SMALL, { process: () => null }, null],
    ["false where process says false", SMALL, { process: () => false }, false],
    ["an empty text where process says so", SMALL, { process: () => "" }, ""],
    ["a text where process makes one of a number", 5, { process: () => "5" }, "5"],
    ["the output where process gives nothing", SMALL, { process: () => undefined }, undefined],
    ["the output where process gives the same", SMALL, { process: (output) => output }, undefined],
    ["a large result's extract", LARGE, { extract: () => "what matters" }, "what matters"],
    ["a large result whole where extract gives nothing", LARGE, { extract: () => undefined }, undefined],
    ["a result at the threshold whole", "y".repeat(60_000), { extract: () => "no" }, undefined],
    ["an extract just above it", "y".repeat(60_001), { extract: () => "yes" }, "yes"],
    ["an extract above its own threshold", "y".repeat(41), { extract: () => "yes", extractAboveTokens: 10 }, "yes"],
    ["no extract of what process made small", LARGE, { process: () => "small", extract: () => "no" }, "small"],
    [
      "an extract of what process made large",
      1,
      { process: () => LARGE, extract: (output) => `${String(output).length}` },
      "64000",
    ],
  ])("[#111] [S2-19] %s", (_title, output, options, shaped) => {
    const around = work();
    expect(shapeResult(output, around, options)).toEqual(shaped);
    expect(around.errors).toEqual([]);
  });

  test("[#111] [S2-19] an extract that takes time, of what process made, with the person's question", async () => {
    const process = vi.fn((output: Json) => [output, "processed"]);
    const extract = vi.fn(async (_output: Json) => "what matters");
    const shaped = shapeResult(LARGE, work(), { process, extract });
    expect(shaped).toBeInstanceOf(Promise);
    expect(await shaped).toBe("what matters");
    expect(process).toHaveBeenCalledWith(LARGE, INFO);
    expect(extract).toHaveBeenCalledWith([LARGE, "processed"], INFO, expect.any(AbortSignal));
  });

  test("[#111] [S2-19] a large result whole where extract gives nothing, later", async () => {
    expect(await shapeResult(LARGE, work(), { extract: async () => undefined })).toBeUndefined();
  });

  test("what the app gives goes through the encoder", async () => {
    const encode = (value: unknown): Json => (value instanceof Map ? Object.fromEntries(value) : (value as Json));
    const around = work({ encode });
    expect(shapeResult(SMALL, around, { process: () => bad(new Map([["a", 1]])) })).toEqual({ a: 1 });
    expect(await shapeResult(LARGE, around, { extract: async () => bad(new Map([["b", 2]])) })).toEqual({ b: 2 });
  });
});

describe("a mistake of the app's", () => {
  const boom = (): never => {
    throw new Error("no");
  };
  test.each<[string, Json, ResultOptions, Json | undefined, RegExp]>([
    ["in process: the model reads the output", SMALL, { process: boom }, undefined, /^no$/],
    ["in process: extract still sees the output", LARGE, { process: boom, extract: () => "ok" }, "ok", /^no$/],
    ["in extract: the model reads what came in", LARGE, { extract: boom }, undefined, /^no$/],
    ["in extract: what process made stays", 1, { process: () => LARGE, extract: boom }, LARGE, /^no$/],
    ["in extract, later", LARGE, { extract: async () => boom() }, undefined, /^no$/],
    ["a process that takes time", SMALL, { process: bad(async () => "x") }, undefined, /use extract/],
    ["a process that takes time and fails", SMALL, { process: bad(async () => boom()) }, undefined, /use extract/],
  ])("[#111] [S2-19] %s", async (_title, output, options, shaped, message) => {
    const around = work();
    expect(await shapeResult(output, around, options)).toEqual(shaped);
    expect(around.errors).toEqual([expect.objectContaining({ message: expect.stringMatching(message) })]);
  });

  test("[S2-19] an extract that never answers is left when the call ends", async () => {
    const stop = new AbortController();
    const around = work({ signal: stop.signal });
    const shaped = shapeResult(LARGE, around, { extract: () => new Promise(() => undefined), maxChars: 1_000 });
    stop.abort(new Error("stopped"));
    expect(String(await shaped)).toContain("63000 characters were left out");
    expect(around.errors).toEqual([new Error("stopped")]);
  });

  test("cannot change what the log holds", async () => {
    const output = { rows: [{ id: 1 }], text: LARGE };
    const input = { page: 1 };
    const spoil = (given: Json, info: { input: Json }): undefined => {
      Object.assign(given as object, { rows: "spoilt" });
      Object.assign(info.input as object, { page: "spoilt" });
    };
    await shapeResult(output, work({ input }), { process: spoil, extract: async (given, info) => spoil(given, info) });
    expect(output.rows).toEqual([{ id: 1 }]);
    expect(input).toEqual({ page: 1 });
  });
});

describe("a result too long for the model", () => {
  test("[M-36] keeps beginning and end, and says what is missing between", () => {
    const text = `${"a".repeat(300)}${"b".repeat(400)}${"c".repeat(300)}`;
    expect(shapeResult(text, work(), { maxChars: 600 })).toBe(
      `${"a".repeat(300)}\n[… 400 characters were left out here …]\n${"c".repeat(300)}`,
    );
  });

  test("[M-36] is cut at 65,536 characters by default, not before", () => {
    expect(shapeResult("x".repeat(MAX_RESULT_CHARS), work(), {})).toBeUndefined();
    const shaped = String(shapeResult("x".repeat(MAX_RESULT_CHARS + 1), work(), {}));
    expect(shaped).toContain("\n[… 1 characters were left out here …]\n");
    expect(shaped.length).toBeLessThan(MAX_RESULT_CHARS + 50);
  });

  test("[M-36] that is no text is cut as the text of its JSON", () => {
    const rows = Array.from({ length: 1_000 }, (_, id) => ({ id }));
    const shaped = String(shapeResult(rows, work(), { maxChars: 200 }));
    expect(shaped.startsWith('[{"id":0},{"id":1}')).toBe(true);
    expect(shaped.endsWith('{"id":999}]')).toBe(true);
  });

  test("[M-36] is cut after process and extract, and whole where no limit is wanted", async () => {
    expect(String(shapeResult(1, work(), { process: () => LARGE, maxChars: 100 })).length).toBeLessThan(150);
    expect(String(await shapeResult(LARGE, work(), { extract: async () => LARGE, maxChars: 100 })).length).toBeLessThan(
      150,
    );
    expect(shapeResult(LARGE.repeat(4), work(), { maxChars: Number.POSITIVE_INFINITY })).toBeUndefined();
  });

  test("[M-36] is cut between characters", () => {
    for (const maxChars of [100, 102, 103]) {
      const shaped = shapeResult(`x${"😀".repeat(500)}`, work(), { maxChars });
      expect(JSON.stringify(shaped)).not.toContain("\\ud");
    }
  });
});

test.each<[string, ResultOptions, RegExp]>([
  ["no room", { maxChars: 0 }, /results\.maxChars.*at least 100.*it is 0/],
  ["room that is no number", { maxChars: Number.NaN }, /maxChars.*NaN/],
  ["a threshold below zero", { extractAboveTokens: -1 }, /results\.extractAboveTokens.*-1/],
  ["a process that is none", { process: bad("x") }, /results\.process.*function.*x/],
  ["an extract that is none", { extract: bad(1) }, /results\.extract.*function.*1/],
])("[M-36] %s is refused where it is written", (_title, options, message) => {
  expect(() => checkResultOptions(options)).toThrow(message);
  expect(() => checkResultOptions(options)).toThrow(expect.objectContaining({ code: "invalid-config" }));
});

test("[M-36] settings that make sense pass", () => {
  expect(() => checkResultOptions({})).not.toThrow();
  const all = { process: () => 1, extract: () => 1, extractAboveTokens: 0, maxChars: Number.POSITIVE_INFINITY };
  expect(() => checkResultOptions(all)).not.toThrow();
});
