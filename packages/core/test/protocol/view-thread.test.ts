import { describe, expect, test } from "vitest";
import type { EventDraft } from "../../src/protocol/event.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { titleOf } from "../../src/protocol/step.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import type { ThreadView } from "../../src/protocol/view-thread.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { plain } from "./fold.ts";
import { ANA, LogBuilder, ready } from "./log-builder.ts";

/** A view in one line a message: who speaks, and its parts. */
function lines(view: ThreadView): readonly string[] {
  return view.messages.map(({ role, parts }) => {
    const words = parts.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "step") return `[${part.step.tool} ${part.step.status}]`;
      return part.type === "notice" ? `(${part.outcome})` : `<${part.type}>`;
    });
    return `${role}: ${words.join(" | ")}`;
  });
}

const view = (log: LogBuilder): ThreadView => viewThread(log.thread);

describe("viewThread", () => {
  test("an empty thread is idle and shows nothing", () => {
    expect(viewThread(emptyThread("t"))).toMatchObject({
      status: "idle",
      messages: [],
      steps: [],
      queued: [],
      text: "",
    });
  });

  test("shows messages, texts and steps in the order they came", () => {
    const log = new LogBuilder()
      .begin("Refund it")
      .turn(1, "I look.", { "find-1": { order: 1 }, "find-2": { order: 2 } });
    log
      .allow("find-1")
      .start("find-1")
      .succeed("find-1", "paid")
      .allow("find-2")
      .start("find-2")
      .succeed("find-2", "open");
    log.turn(2, "Order 1 is paid.").end("completed", "Order 1 is paid.");
    expect(lines(view(log))).toEqual([
      "user: Refund it",
      "assistant: I look. | [find succeeded] | [find succeeded] | Order 1 is paid.",
    ]);
    expect(view(log)).toMatchObject({ status: "ended", outcome: "completed", text: "Order 1 is paid.", queued: [] });
    expect(view(log).steps.map(({ id, title }) => [id, title])).toEqual([
      ["find-1", "Run find"],
      ["find-2", "Run find"],
    ]);
    expect(view(log).usage).toEqual({ inputTokens: 20, outputTokens: 10 });
  });

  test("a message sent while the run works is queued, and cuts the answer where the model read it", () => {
    const log = new LogBuilder().begin("First").turn(1, "One.", { "find-1": 1 });
    log.add(log.message("Also this", "r1"));
    expect(lines(view(log))).toEqual(["user: First", "assistant: One. | [find queued]", "user: Also this"]);
    expect(view(log).queued.map(({ id }) => id)).toEqual(["m2"]);
    log.allow("find-1").start("find-1").succeed("find-1", 1).turn(2, "Two.").end("completed", "Two.");
    expect(lines(view(log))).toEqual([
      "user: First",
      "assistant: One. | [find succeeded]",
      "user: Also this",
      "assistant: Two.",
    ]);
    expect(view(log).queued).toEqual([]);
    const ids = view(log).messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[1]).toBe("r1");
  });

  test("a message that a run ended without reading goes to the run that reads it, and is never lost", () => {
    const log = new LogBuilder().begin("First");
    log.add({ type: "stop-requested", runId: "r1", by: ANA, ...log.key() }).end("stopped");
    expect(lines(view(log))).toEqual(["assistant: (stopped)", "user: First"]);
    expect(view(log).queued.map(({ id }) => id)).toEqual(["m1"]);
    log.add(log.message("Second", "r2"), log.run("r2"));
    viewThread(log.thread);
    log.drive({ type: "turn-started", runId: "r2", turn: 1, attempt: 1, model: "m" });
    expect(lines(view(log))).toEqual(["assistant: (stopped)", "user: First", "user: Second"]);
    expect(view(log).queued).toEqual([]);
    const fresh: Thread = JSON.parse(JSON.stringify(log.thread));
    expect(plain(viewThread(fresh))).toEqual(plain(view(log)));
  });

  test("a run that ended otherwise than by its answer says so", () => {
    const log = new LogBuilder().begin().turn(1, "Half").end("limited");
    expect(lines(view(log)).at(-1)).toBe("assistant: Half | (limited)");
    expect(view(log)).toMatchObject({ status: "ended", outcome: "limited", limit: "turns" });
    const stopped = new LogBuilder().begin().turn(1, "Half");
    stopped.add({ type: "stop-requested", runId: "r1", by: ANA, reason: "x", ...stopped.key() });
    expect(view(stopped)).toMatchObject({ status: "running", stopping: true });
    stopped.end("stopped");
    expect(view(stopped)).toMatchObject({ status: "ended", stopping: false });
    expect(view(stopped).messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "notice", outcome: "stopped", by: ANA });
  });

  test("pending are the steps that ask a person, until somebody answered", () => {
    const log = new LogBuilder().begin().turn(1, "", { "refund-1": 1, "refund-2": 2, "find-1": 3 });
    log.ask("refund-1").ask("refund-2").allow("find-1");
    expect(view(log).pending.map(({ id }) => id)).toEqual(["refund-1", "refund-2"]);
    log.start("find-1").succeed("find-1", 1).wait("refund-1", "refund-2");
    expect(view(log).status).toBe("waiting");
    log.decide("refund-1", { action: "approve" });
    expect(view(log).pending.map(({ id }) => id)).toEqual(["refund-2"]);
    expect(view(log).status).toBe("running");
    expect(view(log).steps[0]).toMatchObject({ status: "queued", decision: { action: "approve", by: ANA }, ask: null });
  });

  test("says what the model is at", () => {
    const log = new LogBuilder().begin();
    const phases = [view(log).phase];
    const at = { turn: 1, attempt: 1 };
    const push = (...drafts: readonly EventDraft[]): void => {
      phases.push(view(log.drive(...drafts)).phase);
    };
    push({ type: "turn-started", ...at, model: "m" });
    push({ type: "text-added", ...at, kind: "reasoning", text: "hm" });
    push({ type: "text-added", ...at, text: "I look." });
    push({ type: "call-proposed", ...at, callId: "find-1", name: "find" });
    push({ type: "turn-ended", ...at, finishReason: "stop" }, ready("find-1", 1, 1));
    expect(phases).toEqual(["thinking", "thinking", "thinking", "writing", "calling", "tools"]);
    log
      .allow("find-1")
      .start("find-1")
      .succeed("find-1", 1)
      .drive({ type: "turn-started", turn: 2, attempt: 1, model: "m" });
    expect(view(log).phase).toBe("thinking");
    log.drive({ type: "attempt-failed", turn: 2, attempt: 1, error: { code: "model-failed", message: "no" } });
    expect(view(log).phase).toBe("thinking");
    expect(view(log.end("failed")).phase).toBeUndefined();
  });

  test("a failed attempt's half-written call disappears, and its text stands until the next attempt", () => {
    const log = new LogBuilder().begin().drive({ type: "turn-started", turn: 1, attempt: 1, model: "m" });
    log.drive({ type: "text-added", turn: 1, attempt: 1, text: "I loo" });
    log.drive({ type: "call-proposed", turn: 1, attempt: 1, callId: "c", name: "find" });
    log.drive({
      type: "attempt-failed",
      turn: 1,
      attempt: 1,
      error: { code: "model-failed", message: "no" },
      retryAt: 1,
    });
    expect(lines(view(log)).at(-1)).toBe("assistant: I loo");
    log.drive({ type: "turn-started", turn: 1, attempt: 2, model: "m" });
    expect(lines(view(log))).toEqual(["user: Refund order 1042"]);
    log.drive({ type: "text-added", turn: 1, attempt: 1, text: "late" });
    expect(lines(view(log))).toEqual(["user: Refund order 1042"]);
  });

  test("a sub-agent's steps are children of its call from their first event, and surface in pending", () => {
    const log = new LogBuilder().begin().turn(1, "", { "research-1": 1 }).allow("research-1").start("research-1");
    viewThread(log.thread); // cached before there is a child
    const child = { runId: "r2" };
    log.drive({
      type: "run-started",
      ...child,
      trigger: "call",
      depth: 1,
      parentCallId: "research-1",
      agentVersion: "1",
    });
    log.drive({ type: "turn-started", ...child, turn: 1, attempt: 1, model: "m" });
    log.drive(
      { type: "turn-ended", ...child, turn: 1, attempt: 1, finishReason: "stop" },
      { ...ready("pay-1", 1, 5), ...child },
    );
    expect(view(log).steps.map(({ id }) => id)).toEqual(["research-1", "pay-1"]);
    const digest = "digest-pay-1";
    log.drive(
      { type: "call-judged", ...child, callId: "pay-1", verdict: "ask", by: "default", digest },
      { type: "decision-requested", ...child, callId: "pay-1", kind: "approval", digest },
    );
    expect(view(log).pending.map(({ id }) => id)).toEqual(["pay-1"]);
    log.drive({ type: "call-settled", ...child, callId: "pay-1", outcome: "not-run", reason: "denied" });
    log.drive({ type: "run-ended", ...child, outcome: "completed", text: "done", usage: {} });
    expect(view(log).steps[0]?.children.map(({ status }) => status)).toEqual(["not-run"]);
    log.succeed("research-1", "done").turn(2, "Done.").end("completed", "Done.");
    expect(view(log).steps.map(({ id }) => id)).toEqual(["research-1", "pay-1"]);
    expect(view(log).text).toBe("Done.");
    expect(view(log).turns.map(({ turn, parentId, steps }) => [turn, parentId, steps.map(({ id }) => id)])).toEqual([
      [1, undefined, ["research-1"]],
      [1, "research-1", ["pay-1"]],
      [2, undefined, []],
    ]);
    expect(view(log).turns[0]?.steps[0]).toBe(view(log).steps[0]);
  });

  test("the turns are those of the active run, else of the last one, each with its times and tokens", () => {
    const log = new LogBuilder().begin().turn(1, "", { "find-1": 1 });
    const [turn] = view(log).turns;
    expect(turn).toMatchObject({ turn: 1, attempt: 1, status: "ended", model: "scripted" });
    expect(turn?.usage).toEqual({ inputTokens: 10, outputTokens: 5 });
    expect(turn?.endedAt).toBeGreaterThanOrEqual(turn?.startedAt ?? Number.NaN);
    log.allow("find-1").start("find-1").succeed("find-1", "paid").turn(2, "Done.");
    const before = view(log).turns;
    log.end("completed", "Done.");
    expect(view(log).turns).toEqual(before);
    expect(view(log).turns[0]).toBe(before[0]);
    log.add(log.message("Again", "r2"), log.run("r2"));
    expect(view(log).turns).toEqual([]);
  });

  test("a step knows when it last asked, also once it is answered", () => {
    const log = new LogBuilder().begin().turn(1, "", { "pay-1": 1 }).ask("pay-1");
    const { askedAt } = view(log).steps[0] ?? {};
    expect(askedAt).toBe(view(log).steps[0]?.ask?.askedAt);
    log.decide("pay-1", {}).start("pay-1").succeed("pay-1", "done");
    expect(view(log).steps[0]).toMatchObject({ ask: null, askedAt });
  });

  test("the same thread has the same view, and steps nothing happened to are the same objects", () => {
    const log = new LogBuilder().begin().turn(1, "", { "find-1": 1, "find-2": 2 });
    expect(view(log)).toBe(view(log));
    const before = view(log);
    log.allow("find-1");
    const after = view(log);
    expect(after.steps[0]).not.toBe(before.steps[0]);
    expect(after.steps[1]).toBe(before.steps[1]);
    expect(after.messages[0]).toBe(before.messages[0]);
  });

  test.each([100, 400])(
    "at most 1.5 parts change identity per event with %i calls, in one turn or many",
    {
      timeout: 60_000,
    },
    (calls) => {
      for (const perTurn of [1, calls]) {
        const log = new LogBuilder().begin();
        for (let turn = 1; turn <= calls / perTurn; turn++) {
          const ids = Array.from({ length: perTurn }, (_, index) => `find-${turn * 1000 + index}`);
          log.turn(turn, "I look.", Object.fromEntries(ids.map((id) => [id, { id }])));
          for (const id of ids) log.allow(id).start(id).succeed(id, "paid");
        }
        for (const project of [false, true]) {
          const { changes, events } = countChanges(log, project);
          expect(changes / events).toBeLessThanOrEqual(1.5);
        }
      }
    },
  );
});

/** How many parts of messages were other objects after an event than before it. */
function countChanges(log: LogBuilder, project: boolean): { changes: number; events: number } {
  let thread = emptyThread("t");
  let before: readonly unknown[] = [];
  let changes = 0;
  for (const event of log.events) {
    thread = reduceThread(thread, event);
    const parts = viewThread(project ? projectThread(thread) : thread).messages.flatMap((message) => message.parts);
    changes += before.filter((part, index) => part !== parts[index]).length;
    before = parts;
  }
  return { changes, events: log.events.length };
}

test.each([
  ["refundOrder", "Refund order"],
  ["refund_order", "Refund order"],
  ["refund-order-2", "Refund order 2"],
  ["x", "X"],
  ["", ""],
])("the tool %j is called %j", (tool, title) => {
  expect(titleOf(tool)).toBe(title);
});
