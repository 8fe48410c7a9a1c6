import { describe, expect, test } from "vitest";
import type { StopContext, StopWhen } from "../../src/agent/stop-when.ts";
import {
  afterTool,
  allOf,
  callsAbove,
  contentMatches,
  firstOf,
  saysStop,
  tokensAbove,
  toolCalled,
} from "../../src/agent/stop-when.ts";

/** A first answer without calls, changed in what a case is about. */
function at(context: Partial<StopContext> = {}): StopContext {
  return { turn: 1, text: "", calls: [], usage: {}, callCount: 0, lastResults: [], lastTools: [], ...context };
}

/** The turns that S2's four cases play: an answer that calls `add`, then one with its result. */
const ASKS_ADD = at({ turn: 1, text: "Let me add.", calls: [{ tool: "add", input: { a: 2, b: 3 } }] });
const HAS_ADDED = at({ turn: 2, text: "5", callCount: 1, lastResults: ["5"], lastTools: ["add"] });
const ASKS_FINAL = at({ turn: 2, calls: [{ tool: "final_answer", input: { text: "5" } }], callCount: 1 });

/** The number of the first turn that a condition ends; undefined when it lets all of them pass. */
async function endsAt(condition: StopWhen, turns: readonly StopContext[]): Promise<number | undefined> {
  for (const turn of turns) if (saysStop(await condition(turn))) return turn.turn;
  return undefined;
}

describe("a condition ends the run at", () => {
  test.each<[string, StopWhen, readonly StopContext[], number | undefined]>([
    ["[#99] the first answer", () => true, [ASKS_ADD, HAS_ADDED], 1],
    ["[#99] the answer after one call", ({ callCount }) => callCount >= 1, [ASKS_ADD, HAS_ADDED], 2],
    ["[#99] the call of final_answer", toolCalled("final_answer"), [ASKS_ADD, ASKS_FINAL], 2],
    ["[#99] no answer when it never says so", () => undefined, [ASKS_ADD, HAS_ADDED], undefined],
    ["[M-26] the answer that follows a tool's result", afterTool("add"), [ASKS_ADD, HAS_ADDED], 2],
    ["[M-26] no answer that follows another tool's result", afterTool("sub"), [ASKS_ADD, HAS_ADDED], undefined],
  ])("%s", async (_title, condition, turns, turn) => {
    expect(await endsAt(condition, turns)).toBe(turn);
  });

  test("[#100] and sees (1, 0, []) at the first answer and (2, 1, [5]) at the second", async () => {
    const seen: unknown[] = [];
    const look: StopWhen = ({ turn, callCount, lastResults }) => {
      seen.push([turn, callCount, lastResults]);
    };
    expect(await endsAt(look, [ASKS_ADD, HAS_ADDED])).toBeUndefined();
    expect(seen).toEqual([
      [1, 0, []],
      [2, 1, ["5"]],
    ]);
  });
});

describe("what a helper says, with its reason", () => {
  const spent = at({ usage: { inputTokens: 900, outputTokens: 101, reasoningTokens: 50 } });
  const sticky = /done/gy;
  test.each<[string, StopWhen, StopContext, unknown]>([
    ["afterTool of several", afterTool("sub", "add"), HAS_ADDED, "The tool add was called."],
    ["afterTool before the call", afterTool("add"), ASKS_ADD, false],
    ["toolCalled", toolCalled("add"), ASKS_ADD, "The tool add is asked for."],
    ["toolCalled of another tool", toolCalled("sub"), ASKS_ADD, false],
    ["toolCalled of a name of Object's prototype", toolCalled("constructor", "__proto__"), ASKS_ADD, false],
    [
      "contentMatches a pattern",
      contentMatches(/\bDONE\b/i),
      at({ text: "all done." }),
      "The answer matches /\\bDONE\\b/i.",
    ],
    ["contentMatches a text", contentMatches("a.c"), at({ text: "a.c" }), "The answer matches a.c."],
    ["contentMatches a text, not a pattern", contentMatches("a.c"), at({ text: "abc" }), false],
    ["contentMatches no text", contentMatches(/./), at(), false],
    ["contentMatches a sticky pattern", contentMatches(sticky), at({ text: "done" }), "The answer matches /done/gy."],
    [
      "contentMatches the same pattern again",
      contentMatches(sticky),
      at({ text: "done" }),
      "The answer matches /done/gy.",
    ],
    ["tokensAbove, above", tokensAbove(1_000), spent, "The run used 1001 tokens, more than 1000."],
    ["tokensAbove, at the number", tokensAbove(1_001), spent, false],
    ["tokensAbove, usage unknown", tokensAbove(0), at(), false],
    ["callsAbove, above", callsAbove(0), HAS_ADDED, "The run made 1 calls, more than 0."],
    ["callsAbove, at the number", callsAbove(1), HAS_ADDED, false],
  ])("[M-26] %s", (_title, condition, context, said) => {
    expect(condition(context)).toBe(said);
    expect(condition(context)).toBe(said);
  });
});

const no: StopWhen = () => false;
const yes: StopWhen = () => true;
const because =
  (reason: string): StopWhen =>
  () =>
    reason;
const later =
  (condition: StopWhen): StopWhen =>
  async (context) =>
    condition(context);
const never: StopWhen = () => {
  throw new Error("was asked");
};

describe("conditions together", () => {
  test.each<[string, StopWhen, unknown]>([
    ["the first of several gives its reason", firstOf(no, because("one"), because("two")), "one"],
    ["the first that stops is the last that is asked", firstOf(yes, never), true],
    ["none of several stops", firstOf(no, () => undefined, because("")), false],
    ["a slow one before a quick one gives its reason", firstOf(later(because("slow")), because("quick")), "slow"],
    ["a slow one that goes on leaves it to the next", firstOf(later(no), later(no), because("two")), "two"],
    ["all of several stop, with all reasons", allOf(yes, because("one"), later(because("two"))), "one two"],
    ["all of several stop without a reason", allOf(yes, later(yes)), true],
    ["one of all goes on", allOf(yes, no, never), false],
    ["one of all goes on, later", allOf(yes, later(no), never), false],
    ["an empty text is no reason", allOf(because("")), false],
    ["they nest", firstOf(allOf(yes, no), allOf(because("a"), firstOf(no, because("b")))), "a b"],
  ])("[M-26] %s", async (_title, condition, said) => {
    expect(await condition(at())).toBe(said);
  });

  test("[M-26] wait for nothing when every condition is quick", () => {
    expect(firstOf(no, because("one"))(at())).toBe("one");
    expect(allOf(yes, yes)(at())).toBe(true);
  });

  test("[M-26] one that throws is not taken for an answer", async () => {
    expect(() => firstOf(never)(at())).toThrow("was asked");
    await expect(allOf(later(yes), never)(at())).rejects.toThrow("was asked");
  });
});

test.each<[unknown, boolean]>([
  [true, true],
  ["why", true],
  [false, false],
  [undefined, false],
  ["", false],
  [null, false],
  [1, false],
])("[M-26] the answer %j stops: %s", (said, stops) => {
  expect(saysStop(said as boolean)).toBe(stops);
});

test.each<[string, () => unknown, RegExp]>([
  ["no tool to wait for", () => afterTool(), /afterTool\(\).*at least one/],
  ["no tool to look for", () => toolCalled(), /toolCalled\(\).*at least one/],
  ["no condition", () => firstOf(), /firstOf\(\).*at least one/],
  ["no condition at all", () => allOf(), /allOf\(\).*at least one/],
  ["an empty text", () => contentMatches(""), /contentMatches.*empty/],
  ["tokens below zero", () => tokensAbove(-1), /tokensAbove.*-1/],
  ["calls that are no number", () => callsAbove(Number.NaN), /callsAbove.*NaN/],
])("[M-26] %s is refused where it is written", (_title, make, message) => {
  expect(make).toThrow(message);
  expect(make).toThrow(expect.objectContaining({ code: "invalid-config" }));
});
