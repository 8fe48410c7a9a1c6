import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { callWith, runWith, threadWith, turnWith } from "../../src/protocol/one-shape.ts";
import type { Call, Run, Turn } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { StateUpgrade } from "../../src/protocol/upgrade-state.ts";
import { parseState, serialiseState } from "../../src/protocol/upgrade-state.ts";
import { makeState } from "../fixtures/make-state.ts";
import { storedVersions } from "../fixtures/stored-versions.ts";
import { fold, plain } from "./fold.ts";

const { v: VERSION } = JSON.parse(serialiseState(emptyThread("t")));

// A new version of the state: TOOLRUN_NEW_STATE=1 writes its folder. What is in a folder never changes again.
const today = new URL(`../fixtures/state-v${VERSION}/`, import.meta.url);
if (process.env.TOOLRUN_NEW_STATE === "1" && !existsSync(today)) makeState(today);

describe.each(storedVersions().map((stored) => [stored.name, stored] as const))("what was stored: %s", (_, stored) => {
  const { events, snapshots, version } = stored;

  test("its log folds without an anomaly, and is of no unknown version", () => {
    expect(fold(events)).toMatchObject({ seq: events.length, anomalies: 0, unknown: false });
  });

  // Fails where the state changed its shape or meaning: then it needs an upgrade, and a folder of its own.
  test("its snapshots are, upgraded, what its log folds to today", () => {
    for (const { seq, data } of snapshots) {
      expect(JSON.parse(data).v).toBe(version);
      expect(parseState(data, seq)).toEqual(plain(fold(events.slice(0, seq))));
    }
  });

  test("folding on from a snapshot gives what folding all gives", () => {
    for (const { seq, data } of snapshots) {
      expect(plain(fold(events.slice(seq), parseState(data, seq)))).toEqual(plain(fold(events)));
    }
  });
});

describe("the shape of the state", () => {
  test("every version up to today's has its folder, and today's is version 1", () => {
    const versions = new Set(storedVersions().map(({ version }) => version));
    expect([...versions].sort()).toEqual(Array.from({ length: VERSION }, (_, index) => index + 1));
    expect(VERSION).toBe(1);
  });

  // An optional field that no stored log has is seen here.
  test("has the fields it had when its version was made", () => {
    const nothing = {} as Run & Turn & Call; // only the names are looked at
    const fields = {
      thread: Object.keys(threadWith(emptyThread("t"), {})),
      run: Object.keys(runWith(nothing, {})),
      turn: Object.keys(turnWith(nothing, {})),
      call: Object.keys(callWith(nothing, {})),
    };
    expect(fields).toMatchInlineSnapshot(`
      {
        "call": [
          "callId",
          "tool",
          "status",
          "title",
          "summary",
          "input",
          "draft",
          "digest",
          "changed",
          "destructive",
          "ask",
          "decision",
          "earlier",
          "verdict",
          "attempt",
          "failures",
          "retryAt",
          "lastError",
          "progress",
          "log",
          "partial",
          "output",
          "error",
          "reason",
          "effect",
          "late",
          "startedAt",
          "endedAt",
          "inputText",
          "toModel",
          "providerId",
          "opaque",
          "toolHash",
          "salt",
        ],
        "run": [
          "runId",
          "status",
          "depth",
          "trigger",
          "parentCallId",
          "continues",
          "turnLimit",
          "startedSeq",
          "startedAt",
          "endedAt",
          "turns",
          "turn",
          "callCount",
          "childCalls",
          "limits",
          "denials",
          "stop",
          "dueAt",
          "outcome",
          "limit",
          "code",
          "text",
          "usage",
          "agentVersion",
          "activeFrom",
          "reason",
          "user",
        ],
        "thread": [
          "id",
          "seq",
          "at",
          "createdAt",
          "owner",
          "agent",
          "title",
          "messages",
          "runs",
          "active",
          "consumedSeq",
          "grants",
          "anomalies",
          "unknown",
          "epoch",
          "driverId",
          "activeMs",
          "activeAt",
          "keys",
        ],
        "turn": [
          "turn",
          "attempt",
          "cuts",
          "status",
          "startedSeq",
          "startedAt",
          "endedAt",
          "model",
          "toolsOff",
          "note",
          "parts",
          "calls",
          "finishReason",
          "usage",
          "error",
          "retryAt",
          "opaque",
          "judged",
        ],
      }
    `);
  });
});

describe("reading a snapshot", () => {
  const thread = { ...emptyThread("t"), seq: 7 };
  const text = serialiseState(thread);
  const stored = (value: object): string => JSON.stringify(value);
  const upgrades: readonly StateUpgrade[] = [
    ({ title, ...rest }) => ({ ...rest, heading: title }),
    (older) => ({ ...older, heading: `${older.heading}!`, added: [] }),
  ];

  test("of today's version gives the thread", () => {
    expect(parseState(text, 7)).toEqual(thread);
  });

  test.each([
    [1, { title: "Hi" }, "Hi!"],
    [2, { heading: "Hi" }, "Hi!"],
    [3, { heading: "Hi", added: [1] }, "Hi"],
  ])("of version %i goes through the upgrades behind it, in order", (v, fields, heading) => {
    const read = parseState(stored({ v, thread: { id: "t", seq: 7, ...fields } }), 7, upgrades);
    expect(read).toMatchObject({ id: "t", seq: 7, heading, added: expect.any(Array) });
    expect(read).not.toHaveProperty("title");
  });

  test.each([VERSION + 1, 99])("of version %i, which is newer, is unavailable and names the fix", (v) => {
    const read = (): unknown => parseState(stored({ v, thread }), 7);
    expect(read).toThrow(expect.objectContaining({ code: "unavailable", message: expect.stringContaining("deploy") }));
  });

  test.each([
    "",
    text.slice(0, -5),
    "null",
    "[]",
    "3",
    stored({ thread }),
    stored({ v: 0, thread }),
    stored({ v: 1.5, thread }),
    stored({ v: "1", thread }),
    stored({ v: 1 }),
    stored({ v: 1, thread: null }),
    stored({ v: 1, thread: [] }),
    stored({ v: 1, thread: { ...thread, id: 3 } }),
    stored({ v: 1, thread: { ...thread, seq: 8 } }),
  ])("that is damaged is an internal error: %j", (damaged) => {
    expect(() => parseState(damaged, 7)).toThrow(expect.objectContaining({ name: "ToolRunError", code: "internal" }));
  });
});
