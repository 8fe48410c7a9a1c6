import { readFileSync } from "node:fs";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import { ANA, LogBuilder } from "../protocol/log-builder.ts";

export type GoldenLog =
  | "refund-approved"
  | "refund-denied"
  | "refund-edited"
  | "limited"
  | "stopped-mid-text"
  | "interrupted-retried";

const ORDER = { order: 1042 };
const REFUND = { order: 1042, amount: 49.9, reason: "damaged" };

/** Logs that tests of all rooms share. Each is in a file of its name, one stored event a line; seq is the line's number. */
const builders: Readonly<Record<GoldenLog, () => LogBuilder>> = {
  "refund-approved": () => {
    const log = asked().decide("refund-1", { action: "approve", scope: "once" }).start("refund-1");
    const progress = { type: "call-progressed", callId: "refund-1", attempt: 1 } as const;
    log.drive({ ...progress, value: 1, max: 2, label: "Contacting the bank" });
    log.drive({ ...progress, value: 2, max: 2, log: ["bank: accepted"] }).succeed("refund-1", { refunded: 49.9 });
    return log.turn(3, "I refunded 49.90 for order 1042.").end("completed", "I refunded 49.90 for order 1042.");
  },
  "refund-denied": () => {
    const settled = {
      type: "call-settled",
      callId: "refund-1",
      outcome: "not-run",
      reason: "denied",
      effect: "none",
    } as const;
    const log = asked().decide("refund-1", { action: "deny", reason: "The customer kept the item." }, settled);
    return log.turn(3, "I did not refund it.").end("completed", "I did not refund it.");
  },
  "refund-edited": () => {
    const input = { ...REFUND, amount: 20 };
    const log = asked().decide("refund-1", { action: "approve", input, newDigest: "digest-refund-1-edited" });
    log.start("refund-1").succeed("refund-1", { refunded: 20 });
    return log.turn(3, "I refunded 20.00, as you asked.").end("completed", "I refunded 20.00, as you asked.");
  },
  limited: () => {
    const log = new LogBuilder().begin("Check every order").turn(1, "Order 1.", { "find-1": { order: 1 } });
    log.allow("find-1").start("find-1").succeed("find-1", { status: "paid" });
    log.drive(
      { type: "limit-reached", limit: "turns", count: 2, follows: "answer" },
      { type: "turn-started", turn: 2, attempt: 1, model: "scripted", toolsOff: true, note: "Answer now." },
    );
    log.drive({ type: "text-added", turn: 2, attempt: 1, text: "I checked one order; the rest is open." });
    log.drive({ type: "turn-ended", turn: 2, attempt: 1, finishReason: "stop" });
    return log.end("limited", "I checked one order; the rest is open.");
  },
  "stopped-mid-text": () => {
    const log = new LogBuilder().begin("Tell me everything");
    log.drive({ type: "turn-started", turn: 1, attempt: 1, model: "scripted" });
    for (const text of ["Everything", " began", " with"]) log.drive({ type: "text-added", turn: 1, attempt: 1, text });
    log.drive({ type: "call-proposed", callId: "find-1", turn: 1, attempt: 1, name: "find" });
    log.drive({ type: "call-input-added", callId: "find-1", text: '{"ord' });
    log.add({ type: "stop-requested", runId: "r1", by: ANA, reason: "too long", ...log.key() });
    return log.end("stopped");
  },
  "interrupted-retried": () => {
    const log = looked().allow("refund-1").start("refund-1");
    log
      .add(...log.claim("takeover"))
      .drive({ type: "call-interrupted", callId: "refund-1", attempt: 1 })
      .wait("refund-1");
    log.decide("refund-1", { action: "retry" }).start("refund-1").succeed("refund-1", { refunded: 49.9 });
    return log.turn(3, "Refunded.").end("completed", "Refunded.");
  },
};

export const GOLDEN_LOGS: readonly GoldenLog[] = Object.keys(builders) as GoldenLog[]; // the record has exactly these

/** The log as it is written today, to compare with its file. */
export function buildGoldenLog(name: GoldenLog): readonly ThreadEvent[] {
  return builders[name]().events;
}

/** The log as its file has it. */
export function readGoldenLog(name: GoldenLog): readonly ThreadEvent[] {
  const lines = readFileSync(goldenLogFile(`${name}.jsonl`), "utf8")
    .trimEnd()
    .split("\n");
  return lines.map((line, index) => parseEvent(line, index + 1));
}

export function goldenLogFile(file: string): URL {
  return new URL(file, import.meta.url);
}

/** The order was looked up, and a refund of it is ready. */
function looked(): LogBuilder {
  const log = new LogBuilder().begin("Refund order 1042").turn(1, "I look it up.", { "find-1": ORDER });
  log.allow("find-1").start("find-1").succeed("find-1", { status: "paid", total: 49.9 });
  return log.turn(2, "It is paid; I refund it.", { "refund-1": REFUND });
}

/** A person is asked for the refund, and nobody drives. */
function asked(): LogBuilder {
  return looked().ask("refund-1").wait("refund-1");
}
