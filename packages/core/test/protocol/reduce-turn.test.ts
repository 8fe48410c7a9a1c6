import { describe, expect, test } from "vitest";
import type { EventBody } from "../../src/protocol/event.ts";
import type { Thread, Turn } from "../../src/protocol/thread.ts";
import type { Draft } from "../loop/small-log.ts";
import {
  begun,
  doneTurn,
  ended,
  foldDrafts,
  ignores,
  ready,
  turnEnded,
  turnFailed,
  turnStarted,
} from "../loop/small-log.ts";

const on = { runId: "r", epoch: 1 } as const;
const at = { turn: 1, attempt: 1 } as const;

const text = (piece: string, kind?: "reasoning"): Draft => ({ type: "text-added", ...on, ...at, kind, text: piece });
const file = (url: string): Draft => ({
  ...{ type: "part-added", ...on, ...at, part: { type: "file", url, mediaType: "image/png" } },
});
const call = (callId: string): Draft => ({ type: "call-proposed", ...on, ...at, callId, name: "plain" });

function turnOf(thread: Thread): Turn {
  const turn = (thread.active[0] ?? thread.runs[0])?.turn;
  if (!turn) throw new Error("no turn");
  return turn;
}

/** What the open turn shows. */
function partsAfter(...drafts: readonly Draft[]): readonly unknown[] {
  const short = (part: Turn["parts"][number]): unknown => {
    if (part.type === "call") return part.index;
    return part.type === "file" ? part.url : `${part.type}: ${"text" in part ? part.text : ""}`;
  };
  return turnOf(foldDrafts([...begun, turnStarted(), ...drafts])).parts.map(short);
}

describe("the parts of a turn", () => {
  test("are in the order they came, texts side by side as one", () => {
    const order = [text("a"), text("b"), file("f"), file("g"), text("c"), call("x"), text("d"), text("e")];
    expect(partsAfter(...order)).toEqual(["text: ab", "f", "g", "text: c", 0, "text: de"]);
  });

  test("keep text and reasoning apart", () => {
    const order = [text("a", "reasoning"), text("b", "reasoning"), text("c"), text("d", "reasoning")];
    expect(partsAfter(...order)).toEqual(["reasoning: ab", "text: c", "reasoning: d"]);
  });

  test("close up over calls that never came to be, files and other kinds of text staying apart", () => {
    const order = [
      ...[text("a"), call("x"), text("b"), file("f"), call("y"), file("g")],
      ...[text("h", "reasoning"), call("z"), text("i", "reasoning"), call("w"), text("j")],
    ];
    expect(partsAfter(...order, turnFailed(1, 1))).toEqual(["text: ab", "f", "g", "reasoning: hi", "text: j"]);
  });
});

describe("the end of a turn", () => {
  test("is when, why and at what cost", () => {
    const opaque = [{ origin: "p", data: 1 }];
    const thread = foldDrafts([
      ...begun,
      turnStarted(),
      { ...turnEnded(1, 1, "length", { inputTokens: 1 }), opaque } as Draft, // of its kind
    ]);
    expect(turnOf(thread)).toMatchObject({
      ...{ status: "ended", endedAt: thread.at, finishReason: "length", usage: { inputTokens: 1 }, opaque },
    });
    expect(thread.active[0]?.usage).toEqual({ inputTokens: 1 });
  });

  test("by a failure drops its calls and says when it is tried again", () => {
    const thread = foldDrafts([...begun, turnStarted(), call("x"), turnFailed(1, 1, 9_000)]);
    expect(turnOf(thread)).toMatchObject({
      ...{ status: "failed", endedAt: thread.at, calls: [], retryAt: 9_000, error: { code: "model-failed" } },
    });
  });

  test("by the end of its run is a failure, unless it had ended", () => {
    expect(turnOf(foldDrafts([...begun, turnStarted(), call("x"), ended()]))).toMatchObject({
      status: "failed",
      calls: [],
    });
    const whole = foldDrafts([...begun, ...doneTurn(1, { callId: "a" }), ended()]);
    expect(turnOf(whole)).toMatchObject({ status: "ended", calls: [{ callId: "a" }] });
  });
});

describe("an event of a turn", () => {
  const bodies: readonly EventBody[] = [
    { type: "text-added", ...at, text: "x" },
    { type: "part-added", ...at, part: { type: "source", url: "u" } },
    { type: "turn-ended", ...at, finishReason: "stop" },
    { type: "attempt-failed", ...at, error: { code: "x", message: "x" } },
  ];

  test.each(bodies.map((body) => [body.type, body] as const))("%s is of its own turn and attempt", (_type, body) => {
    const thread = foldDrafts([...begun, turnStarted()]);
    const draft = { ...on, ...body } as Draft; // one of the bodies above
    expect(ignores(thread, { ...draft, turn: 2 } as Draft)).toBe(true);
    expect(ignores(thread, { ...draft, attempt: 2 } as Draft)).toBe(true);
    expect(ignores(foldDrafts(begun), draft)).toBe(true);
    expect(ignores(thread, draft)).toBe(false);
    expect(ignores(foldDrafts([turnEnded()], thread), draft)).toBe(true);
  });
});

describe("the next turn", () => {
  const whole = foldDrafts([...begun, ...doneTurn(1)]);

  test.each<[string, Thread, Draft, boolean]>([
    ["follows one that ended", whole, turnStarted(2), true],
    ["leaves none out", whole, turnStarted(3), false],
    ["is not the same one again", whole, turnStarted(1, 2), false],
    ["is not the first of all where the first is there", whole, turnStarted(1), false],
    ["does not begin while the one before is open", foldDrafts([...begun, turnStarted()]), turnStarted(2, 2), false],
    ["does not begin behind a failure", foldDrafts([...begun, turnStarted(), turnFailed(1, 1)]), turnStarted(2), false],
    ["does not begin over an open call", foldDrafts([ready("a")], whole), turnStarted(2), false],
    ["begins with number one", foldDrafts(begun), turnStarted(2), false],
    [
      "is another attempt at a failure",
      foldDrafts([...begun, turnStarted(), turnFailed(1, 1)]),
      turnStarted(1, 2),
      true,
    ],
    ["is not the same attempt again", foldDrafts([...begun, turnStarted()]), turnStarted(1, 1), false],
  ])("%s", (_title, thread, draft, taken) => {
    expect(ignores(thread, draft)).toBe(!taken);
  });

  test("keeps the one before as it was", () => {
    const next = foldDrafts([turnStarted(2)], whole);
    expect(next.active[0]?.turns[0]).toBe(whole.active[0]?.turn);
    expect(next.active[0]).toMatchObject({ turns: [{ turn: 1 }], turn: { turn: 2, status: "open", cuts: 0 } });
  });

  test("says what it began with", () => {
    const begunTurn = { ...turnStarted(1, 1, true), note: "Answer now." } as Draft; // of its kind
    const thread = foldDrafts([...begun, begunTurn]);
    expect(turnOf(thread)).toMatchObject({
      ...{ turn: 1, attempt: 1, status: "open", startedSeq: thread.seq, startedAt: thread.at },
      ...{ model: "m", toolsOff: true, note: "Answer now.", parts: [], calls: [] },
    });
  });
});
