import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { checkPairing } from "../../src/model/check-pairing.ts";
import type { CompactOptions, CompactWork } from "../../src/model/compact-history.ts";
import { compactHistory } from "../../src/model/compact-history.ts";
import { estimateTokens } from "../../src/model/estimate-tokens.ts";
import { maskResults } from "../../src/model/mask-results.ts";
import type { ModelMessage, ToolResult } from "../../src/model/model.ts";
import { NOTE_PREFIX, promptOf } from "../../src/model/prompt.ts";
import type { HistoryOptions } from "../../src/model/shape-history.ts";
import { checkHistoryOptions, shapeHistory } from "../../src/model/shape-history.ts";
import { wireToolName } from "../../src/model/tool-name.ts";
import type { Json } from "../../src/protocol/values.ts";
import { ThreadBuilder } from "./thread-builder.ts";

type Messages = readonly ModelMessage[];

const system: ModelMessage = { role: "system", text: "Be kind." };
const user = (text: string): ModelMessage => ({ role: "user", parts: [{ type: "text", text }] });
const note = (text: string): ModelMessage => user(NOTE_PREFIX + text);
const says = (text: string): ModelMessage => ({ role: "assistant", parts: [{ type: "text", text }] });
const asks = (...ids: string[]): ModelMessage => ({
  role: "assistant",
  parts: ids.map((id) => ({ type: "call", id, name: "look", inputText: "{}" })),
});
const result = (id: string, output: Json, more: Partial<ToolResult> = {}): ToolResult => ({
  id,
  name: "look",
  output,
  isError: false,
  ...more,
});
const tells = (...results: ToolResult[]): ModelMessage => ({ role: "tool", results });

/** A text of about so many tokens. */
const tokens = (count: number, letter = "x"): string => letter.repeat(4 * count);
const large = tokens(600);

/** One line a message: role, and its text or its results' first letters. */
function lines(messages: Messages): string[] {
  return messages.map((message) => {
    if (message.role === "system") return `system ${message.text}`;
    if (message.role === "tool")
      return `tool ${message.results.map(({ output }) => String(output).slice(0, 12)).join(" ")}`;
    const words = message.parts.map((part) =>
      part.type === "text" ? part.text : part.type === "call" ? part.id : "file",
    );
    return `${message.role} ${words.join(" ").replace(NOTE_PREFIX, "note: ").slice(0, 60)}`;
  });
}

/** Three answers that call a tool, then one that is being asked for. */
function threeTurns(first: ToolResult, second = result("b", large), third = result("c", large)): ModelMessage[] {
  return [system, user("Hi"), asks("a"), tells(first), asks("b"), tells(second), asks("c"), tells(third)];
}

describe("estimateTokens", () => {
  const file: ModelMessage = {
    role: "user",
    parts: [{ type: "file", url: `data:image/png;base64,${"A".repeat(200_000)}`, mediaType: "image/png" }],
  };
  const signed: ModelMessage = { role: "assistant", parts: [], opaque: [{ origin: "x", data: "s".repeat(400) }] };
  test.each<[string, Messages, number]>([
    ["nothing", [], 0],
    ["one character", [user("a")], 1],
    ["four", [user("abcd")], 1],
    ["five", [user("abcde")], 2],
    ["several messages, rounded once", [user("ab"), says("ab"), { role: "system", text: "abcd" }], 2],
    ["a call: its name and its arguments", [asks("a")], 2],
    ["a result: its name and its text", [tells(result("a", "12345678"))], 3],
    ["a result that is no text", [tells(result("a", { ok: true }))], 4],
    ["no result's text", [tells(result("a", ""))], 1],
    ["a picture, not its base64", [file], 1_000],
    ["what goes back to the provider", [signed], 107],
  ])("[S1-31] counts %s", (_title, messages, count) => {
    expect(estimateTokens(messages)).toBe(count);
    expect(estimateTokens(messages)).toBe(count);
  });
});

describe("maskResults", () => {
  test("[#110] [S2-20] an old large result becomes a placeholder with tool, size and a way back", () => {
    const masked = maskResults(threeTurns(result("a", large)), {});
    expect(masked[3]).toEqual(
      tells(
        result(
          "a",
          "[The result of look, about 600 tokens, was left out to save room. The call succeeded and is done. To read its result again, call look again.]",
        ),
      ),
    );
    expect(lines(masked).slice(4)).toEqual(["assistant b", "tool xxxxxxxxxxxx", "assistant c", "tool xxxxxxxxxxxx"]);
    expect(() => checkPairing(masked)).not.toThrow();
  });

  test.each<[string, ToolResult]>([
    ["a small one", result("a", tokens(499))],
    ["an error", result("a", large, { isError: true })],
    ["false", result("a", false)],
    ["null", result("a", null)],
    ["one of a tool to keep", result("a", large, { name: "plan" })],
    [
      "one of a tool to keep that has another name for the model",
      result("a", large, { name: wireToolName("my plan") }),
    ],
  ])("[#110] [S2-20] keeps %s", (_title, kept) => {
    const messages = threeTurns(kept);
    expect(maskResults(messages, { keep: ["plan", "my plan"] })).toBe(messages);
  });

  test("[#110] masks only the large ones of one answer", () => {
    const messages = [
      ...threeTurns(result("a", 1)).slice(0, 2),
      asks("d", "e"),
      tells(result("d", 1), result("e", [large])),
    ];
    const masked = maskResults([...messages, ...threeTurns(result("a", 1)).slice(2)], {})[3];
    expect(lines(masked ? [masked] : [])).toEqual(["tool 1 [The result "]);
  });

  test.each<[number, number]>([
    [1, 2],
    [2, 1],
    [3, 0],
    [100, 0],
  ])("[S2-20] with the results of %i answers kept, %i are masked", (olderThanTurns, count) => {
    const masked = maskResults(threeTurns(result("a", large)), { olderThanTurns });
    expect(lines(masked).filter((line) => line.includes("[The result"))).toHaveLength(count);
  });

  test("[S2-20] keeps what the model has not read yet, whatever the setting", () => {
    const messages = [user("Hi"), asks("a"), tells(result("a", large))];
    expect(maskResults(messages, { olderThanTurns: 1 })).toBe(messages);
  });

  test("[S2-20] takes the size from the setting, and never makes a result longer", () => {
    const messages = threeTurns(result("a", tokens(60)), result("b", "short"), result("c", 1));
    expect(maskResults(messages, { atLeastTokens: 60 })).not.toBe(messages);
    expect(maskResults(messages, { atLeastTokens: 61 })).toBe(messages);
    expect(maskResults(threeTurns(result("a", "short")), { atLeastTokens: 1 })[3]).toEqual(tells(result("a", "short")));
  });

  test("[S2-20] happens once: the same objects again, and nothing is told twice", () => {
    const messages = threeTurns(result("a", large));
    const told: unknown[] = [];
    const masked = maskResults(messages, {}, (made) => told.push(made));
    const again = maskResults([...messages, says("Well."), user("More")], {}, (made) => told.push(made));
    const other = maskResults(messages, { olderThanTurns: 1 });
    expect(again.slice(0, 5)).toEqual(masked.slice(0, 5));
    for (const index of [0, 1, 2, 3, 4]) expect(again[index]).toBe(masked[index]);
    expect(other[3]).toBe(masked[3]);
    expect(maskResults(masked, {})).toBe(masked);
    expect(told).toEqual([
      { results: 1, savedTokens: 564 },
      { results: 1, savedTokens: 564 },
    ]);
  });

  test("settings that differ do not share a message", () => {
    const messages = [
      user("Hi"),
      asks("d", "e"),
      tells(result("d", large), result("e", large, { name: "plan" })),
      asks("a"),
      tells(result("a", 1)),
    ];
    const both = maskResults(messages, { olderThanTurns: 1 });
    const one = maskResults(messages, { olderThanTurns: 1, keep: ["plan"] });
    expect(lines(both)[2]).toBe("tool [The result  [The result ");
    expect(lines(one)[2]).toBe("tool [The result  xxxxxxxxxxxx");
    expect(lines(maskResults(messages, { olderThanTurns: 1 }))[2]).toBe("tool [The result  [The result ");
  });
});

/** Four questions with their answers, 100 tokens each, and a fifth question: 910 tokens. */
function talk(): ModelMessage[] {
  const messages: ModelMessage[] = [system];
  for (const number of [1, 2, 3, 4]) messages.push(user(tokens(100, String(number))), says(tokens(100, "a")));
  return [...messages, user(tokens(100, "5"))];
}

async function compact(messages: Messages, options: CompactOptions, work?: CompactWork): Promise<Messages> {
  return await compactHistory(messages, options, work);
}

describe("compactHistory", () => {
  test("[#89] [S1-31] C1: below the limit, and exactly at it, nothing happens", () => {
    const messages = talk();
    const maxTokens = estimateTokens(messages);
    const summarise = vi.fn(() => "short");
    expect(compactHistory(messages, { maxTokens, summarise })).toBe(messages);
    expect(compactHistory(messages, { maxTokens: maxTokens * 2, summarise })).toBe(messages);
    expect(compactHistory([], { maxTokens: 1, summarise })).toEqual([]);
    expect(summarise).not.toHaveBeenCalled();
  });

  test("[#89] [S1-31] C2: above it, the result is the instructions, one note with the summary, and the end", async () => {
    const messages = talk();
    const summarise = vi.fn((_older: Messages) => "They counted.");
    const compacted = await compact(messages, { maxTokens: 800, keepTokens: 350, summarise });
    expect(compacted[1]).toEqual(note("What the 6 earlier messages said, in short:\nThey counted."));
    expect(compacted[0]).toBe(system);
    expect(compacted.slice(2)).toEqual(messages.slice(7));
    expect(summarise).toHaveBeenCalledOnce();
    expect(summarise.mock.calls[0]?.[0]).toEqual(messages.slice(1, 7));
  });

  test("[#89] [S1-31] C3: every system message is kept as it is, and none is summarised", async () => {
    const second: ModelMessage = { role: "system", text: "Be brief." };
    const messages = talk().toSpliced(3, 0, second);
    const seen: ModelMessage[] = [];
    const summarise = (older: Messages) => {
      seen.push(...older);
      return "short";
    };
    const compacted = await compact(messages, { maxTokens: 800, summarise });
    expect(compacted.slice(0, 2)).toEqual([system, second]);
    expect(compacted[0]).toBe(system);
    expect(compacted[1]).toBe(second);
    expect(seen.filter(({ role }) => role === "system")).toEqual([]);
  });

  test("[#86] a history that is shortened again and again has its instructions once", async () => {
    const options = { maxTokens: 800 };
    let messages: Messages = talk();
    for (let round = 0; round < 5; round++) {
      messages = await compact([...messages, says(tokens(200)), user(tokens(200))], options);
      expect(messages.filter(({ role }) => role === "system")).toEqual([system]);
    }
  });

  test("[#89] [S1-31] C4: the end begins with a person's message, so no call loses its result", async () => {
    const messages = [
      system,
      user(tokens(100)),
      asks("a", "b"),
      tells(result("a", tokens(100)), result("b", tokens(100))),
      says(tokens(50)),
      user("Second"),
      asks("c"),
      tells(result("c", tokens(100))),
      says("Done"),
    ];
    for (let maxTokens = 10; maxTokens < estimateTokens(messages); maxTokens += 7) {
      for (let keepTokens = 1; keepTokens < maxTokens; keepTokens += 13) {
        const compacted = await compact(messages, { maxTokens, keepTokens });
        expect(() => checkPairing(compacted)).not.toThrow();
        expect(lines(compacted).slice(2)).toEqual(lines(messages).slice(5));
      }
    }
  });

  test("[#89] [S1-31] C5: it keeps half of the limit, at most, unless told otherwise", async () => {
    const messages = talk();
    const kept = async (options: CompactOptions): Promise<number> => (await compact(messages, options)).length - 2;
    expect(await kept({ maxTokens: 800 })).toBe(3);
    expect(await kept({ maxTokens: 900 })).toBe(3);
    expect(await kept({ maxTokens: 900, keepTokens: 500 })).toBe(5);
    expect(await kept({ maxTokens: 900, keepTokens: 499 })).toBe(3);
    expect(await kept({ maxTokens: 900, keepTokens: 100 })).toBe(1);
    expect(await kept({ maxTokens: 900, keepTokens: 1 })).toBe(1);
  });

  test("[#89] [S1-31] C6: a reminder is said behind the summary, in the same note", async () => {
    const compacted = await compact(talk(), {
      maxTokens: 800,
      summarise: () => "short",
      reminder: "Never refund twice.",
    });
    expect(compacted[1]).toEqual(note("What the 6 earlier messages said, in short:\nshort\n\nNever refund twice."));
    const plain = await compact(talk(), { maxTokens: 800, reminder: "Never refund twice." });
    expect(plain[1]).toEqual(note("6 earlier messages were left out.\n\nNever refund twice."));
  });

  test("[#89] a history that begins with an answer is cut like any other", async () => {
    const messages = [says(tokens(500)), user("One"), says("1"), user("Two")];
    expect(lines(await compact(messages, { maxTokens: 100 }))).toEqual([
      "user note: 1 earlier message was left out.",
      "user One",
      "assistant 1",
      "user Two",
    ]);
  });

  test.each<[string, ModelMessage[]]>([
    ["answers only", [system, says(tokens(500)), asks("a"), tells(result("a", large))]],
    [
      "one question and its work",
      [system, user("Hi"), asks("a"), tells(result("a", large)), note("Hurry."), asks("b"), tells(result("b", large))],
    ],
    ["notes only", [system, note("Go on."), asks("a"), tells(result("a", large))]],
    ["one long message", [system, user(tokens(500))]],
  ])("[#89] %s cannot be cut: it stays as it is", (_title, messages) => {
    expect(compactHistory(messages, { maxTokens: 100 })).toBe(messages);
  });

  test("[#89] a last question whose work is larger than everything keeps all of it", async () => {
    const work = [
      user("Now"),
      asks("a"),
      tells(result("a", large)),
      note("Hurry."),
      asks("b"),
      tells(result("b", large)),
    ];
    const compacted = await compact([system, user("Hi"), says("Hello"), ...work], { maxTokens: 100 });
    expect(compacted.slice(2)).toEqual(work);
    expect(lines(compacted).slice(0, 2)).toEqual(["system Be kind.", "user note: 2 earlier messages were left out."]);
  });

  test("[S1-31] a summary is paid for once: the same beginning gives the same note, the same object", async () => {
    let count = 0;
    const told: unknown[] = [];
    const options = { maxTokens: 800, summarise: async () => `Summary ${++count}.` };
    const work = { onCompacted: (made: unknown) => told.push(made) };
    const messages = talk();
    const first = await compact(messages, options, work);
    const second = compactHistory([...messages, says("5")], options, work);
    expect(second).not.toBeInstanceOf(Promise);
    expect((await second)[1]).toBe(first[1]);
    expect((await compact([...messages, says("5"), user("Six")], options, work))[1]).toBe(first[1]);
    expect(count).toBe(1);
    expect(told).toEqual([{ messages: 6, savedTokens: estimateTokens(messages) - estimateTokens(first) }]);
  });

  test("[S1-31] outgrown again, only what came since is summarised, with the summary before it", async () => {
    const seen: Messages[] = [];
    const summarise = (older: Messages) => {
      seen.push(older);
      return `Summary ${seen.length}.`;
    };
    const options = { maxTokens: 800, summarise };
    const messages = talk();
    const first = await compact(messages, options);
    const longer = [...messages, says(tokens(300)), user(tokens(300, "6"))];
    const second = await compact(longer, options);
    expect(seen[1]).toEqual([first[1], ...messages.slice(7), says(tokens(300))]);
    expect(second[1]).toEqual(note("What the 10 earlier messages said, in short:\nSummary 2."));
    expect(second.slice(2)).toEqual(longer.slice(-1));
  });

  test("[S1-31] a cut through one history is not taken for one through another", async () => {
    const options = { maxTokens: 800, summarise: (older: Messages) => `${older.length} of them.` };
    const messages = talk();
    await compact(messages, options);
    const moved = messages.toSpliced(1, 0, user("Before all"), says("Well."));
    expect((await compact(moved, options))[1]).toEqual(note("What the 8 earlier messages said, in short:\n8 of them."));
  });

  test("[S1-31] another summariser does not get the first one's words", async () => {
    const messages = talk();
    const one = await compact(messages, { maxTokens: 800, summarise: () => "One." });
    const two = await compact(messages, { maxTokens: 800, summarise: () => "Two." });
    const none = await compact(messages, { maxTokens: 800 });
    const words = [one, two, none].map((each) => lines(each)[1]?.split("\n").at(-1));
    expect(words).toEqual(["One.", "Two.", "user note: 6 earlier messages were left out."]);
  });

  test.each<[string, () => string | Promise<string>, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      /^no$/,
    ],
    [
      "rejects",
      async () => {
        throw new Error("later no");
      },
      /^later no$/,
    ],
    ["gives nothing", () => undefined as unknown as string, /no text/],
    ["gives blanks", async () => " \n", /no text/],
  ])(
    "[S1-31] a summariser that %s: the plain note, the failure is told, the next request tries again",
    async (_title, summarise, message) => {
      const errors: unknown[] = [];
      const summariser = vi.fn(summarise);
      const options = { maxTokens: 800, summarise: summariser };
      const messages = talk();
      for (const round of [1, 2]) {
        const compacted = await compact(messages, options, { onError: (error) => errors.push(error) });
        expect(compacted[1]).toEqual(note("6 earlier messages were left out."));
        expect(summariser).toHaveBeenCalledTimes(round);
      }
      expect(errors).toEqual([
        expect.objectContaining({ message: expect.stringMatching(message) }),
        expect.objectContaining({ message: expect.stringMatching(message) }),
      ]);
      summariser.mockImplementation(() => "At last.");
      expect(lines(await compact(messages, options))[1]).toContain("in short");
    },
  );

  test("[S1-31] a summariser that fails later does not lose the summary before", async () => {
    const summarise = vi.fn(() => "They counted.");
    const options = { maxTokens: 800, summarise };
    const messages = talk();
    await compact(messages, options);
    summarise.mockImplementation(() => {
      throw new Error("no");
    });
    const compacted = await compact([...messages, says(tokens(300)), user(tokens(300))], options);
    expect(compacted[1]).toEqual(
      note("What the 6 earlier messages said, in short:\nThey counted.\n4 earlier messages were left out."),
    );
  });

  test.each<[string, Error, boolean]>([
    ["stops, which is no failure", new DOMException("Stopped.", "AbortError"), false],
    ["runs out of time, which is one", new DOMException("Too slow.", "TimeoutError"), true],
  ])("[S1-31] a summariser that never answers is left when the request %s", async (_title, reason, isTold) => {
    const stop = new AbortController();
    const errors: unknown[] = [];
    const summarise = (): Promise<string> => new Promise(() => undefined);
    const work = { signal: stop.signal, onError: (error: unknown) => errors.push(error) };
    const waiting = compact(talk(), { maxTokens: 800, summarise }, work);
    stop.abort(reason);
    expect(lines(await waiting)[1]).toBe("user note: 6 earlier messages were left out.");
    expect(errors).toEqual(isTold ? [reason] : []);
  });

  test("[S1-31] a summary longer than the room for it is cut between characters", async () => {
    const options = { maxTokens: 800, keepTokens: 400, summarise: () => "😀".repeat(10_000) };
    const compacted = await compact(talk(), options);
    expect(estimateTokens(compacted)).toBeLessThan(830);
    expect(JSON.stringify(compacted)).not.toContain("\\ud");
  });
});

describe("shapeHistory", () => {
  test("[#110] [#89] changes nothing by default", () => {
    const messages = threeTurns(result("a", large));
    expect(shapeHistory(messages, {})).toBe(messages);
  });

  test("[M-36] masks first: what then fits is not summarised", () => {
    const messages = threeTurns(result("a", large));
    const told: unknown[] = [];
    const summarise = vi.fn(() => "short");
    const options = { mask: {}, compact: { maxTokens: 1_300, summarise } };
    const shaped = shapeHistory(messages, options, { onShaped: (shaped) => told.push(shaped) });
    expect(lines(shaped as Messages)[3]).toBe("tool [The result ");
    expect(summarise).not.toHaveBeenCalled();
    expect(told).toEqual([{ type: "masked", results: 1, savedTokens: 564 }]);
  });

  test("[M-36] summarises what is masked", async () => {
    const messages = [...threeTurns(result("a", large)), says("So."), user("Next"), says("Well."), user("Last")];
    const told: unknown[] = [];
    const seen: ModelMessage[] = [];
    const summarise = async (older: Messages) => {
      seen.push(...older);
      return "short";
    };
    const shaped = await shapeHistory(
      messages,
      { mask: {}, compact: { maxTokens: 100, summarise } },
      { onShaped: (made) => told.push(made) },
    );
    expect(lines(seen).filter((line) => line.startsWith("tool"))).toEqual(new Array(3).fill("tool [The result "));
    expect(lines(shaped).slice(2)).toEqual(["user Next", "assistant Well.", "user Last"]);
    expect(told).toEqual([
      expect.objectContaining({ type: "masked", results: 3 }),
      expect.objectContaining({ type: "compacted", messages: 8 }),
    ]);
  });

  test("[M-36] a cut holds also while results before it become placeholders", async () => {
    let count = 0;
    const options = { mask: {}, compact: { maxTokens: 900, summarise: () => `Summary ${++count}.` } };
    const messages = [user(tokens(300)), asks("a"), tells(result("a", large)), user(tokens(200)), says("1")];
    const first = await shapeHistory(messages, options);
    const later = [...messages, user("Two"), asks("b"), tells(result("b", tokens(450)))];
    const second = await shapeHistory(later, options);
    expect(lines(first)[0]).toContain("Summary 1.");
    expect(second[0]).toBe(first[0]);
    expect(count).toBe(1);
  });

  test("[M-36] who only watches and throws changes nothing", async () => {
    const errors: unknown[] = [];
    const work = {
      onShaped: () => {
        throw new Error("watched");
      },
      onError: (error: unknown) => errors.push(error),
    };
    const shaped = await shapeHistory(
      [...threeTurns(result("a", large)), user("Next")],
      { mask: {}, compact: { maxTokens: 50 } },
      work,
    );
    expect(lines(shaped)).toHaveLength(3);
    expect(errors).toEqual([new Error("watched"), new Error("watched")]);
  });

  test("[M-36] whatever a thread holds, calls and results stay paired and the person's last words stay", async () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant("message"), size: fc.nat(200) }),
      fc.record({
        type: fc.constant("calls"),
        count: fc.integer({ min: 1, max: 3 }),
        size: fc.nat(3_000),
        fails: fc.boolean(),
      }),
      fc.record({ type: fc.constant("text"), size: fc.nat(400) }),
      fc.record({ type: fc.constant("stop"), size: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.integer({ min: 20, max: 2_000 }),
        fc.boolean(),
        async (steps, maxTokens, summed) => {
          const built = new ThreadBuilder().message("First").run();
          const options: HistoryOptions = {
            mask: { olderThanTurns: 1, atLeastTokens: 50 },
            compact: { maxTokens, ...(summed && { summarise: async () => "short" }) },
          };
          for (const each of steps) {
            if (each.type === "message") built.message(`M${"m".repeat(each.size)}`);
            if (each.type === "text")
              built
                .turn()
                .text("t".repeat(each.size + 1))
                .end();
            if (each.type === "stop") built.finish("stopped").message("Again").run();
            if (each.type === "calls" && "count" in each) {
              const outcome = each.fails
                ? ({ type: "failed", error: { code: "tool-error", message: "e".repeat(each.size) } } as const)
                : ({ type: "succeeded", output: "o".repeat(each.size) } as const);
              built.turn().end(...new Array(each.count).fill({ tool: "look", outcome }));
            }
            const messages = promptOf(built.thread, built.root, "Be kind.");
            const shaped = await shapeHistory(messages, options);
            checkPairing(shaped);
            expect(shaped[0]).toBe(messages[0]);
            expect(shaped.filter(({ role }) => role === "system")).toHaveLength(1);
            const words = (all: Messages): ModelMessage | undefined =>
              all.findLast((message) => message.role === "user" && !JSON.stringify(message).includes(NOTE_PREFIX));
            expect(words(shaped)).toBe(words(messages));
            expect(await shapeHistory(messages, options)).toEqual(shaped);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("checkHistoryOptions", () => {
  const bad = (value: unknown): never => value as never;
  test.each<[string, HistoryOptions, RegExp]>([
    ["no turns", { mask: { olderThanTurns: 0 } }, /history\.mask\.olderThanTurns.*at least 1.*it is 0/],
    ["half a turn", { mask: { olderThanTurns: 1.5 } }, /olderThanTurns.*1\.5/],
    ["tokens that are no number", { mask: { atLeastTokens: Number.NaN } }, /history\.mask\.atLeastTokens.*NaN/],
    ["one name to keep", { mask: { keep: bad("plan") } }, /history\.mask\.keep.*list of tools.*plan/],
    ["no limit", { compact: bad({}) }, /history\.compact\.maxTokens.*undefined/],
    ["a limit below zero", { compact: { maxTokens: -1 } }, /history\.compact\.maxTokens.*-1/],
    ["a limit without end", { compact: { maxTokens: Number.POSITIVE_INFINITY } }, /maxTokens.*Infinity/],
    ["nothing to keep", { compact: { maxTokens: 100, keepTokens: 0 } }, /history\.compact\.keepTokens.*it is 0/],
    [
      "as much to keep as the limit",
      { compact: { maxTokens: 100, keepTokens: 100 } },
      /keepTokens.*less than maxTokens, which is 100.*100/,
    ],
    [
      "a summary that is no function",
      { compact: { maxTokens: 100, summarise: bad("short") } },
      /summarise.*function.*short/,
    ],
    ["a reminder that is no text", { compact: { maxTokens: 100, reminder: bad(1) } }, /reminder.*text.*1/],
  ])("[M-36] refuses %s, naming the setting, its value and the fix", (_title, options, message) => {
    expect(() => checkHistoryOptions(options)).toThrow(message);
    expect(() => checkHistoryOptions(options)).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });

  test.each<[string, HistoryOptions]>([
    ["nothing", {}],
    ["the defaults", { mask: {}, compact: { maxTokens: 1 } }],
    [
      "everything",
      {
        mask: { olderThanTurns: 1, atLeastTokens: 1, keep: [] },
        compact: { maxTokens: 2, keepTokens: 1, summarise: () => "", reminder: "" },
      },
    ],
  ])("[M-36] takes %s", (_title, options) => {
    expect(() => checkHistoryOptions(options)).not.toThrow();
  });
});
