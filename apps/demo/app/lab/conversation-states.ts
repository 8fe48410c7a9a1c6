import type { LimitName } from "toolrun";
import { evilText } from "../../lib/evil-text.ts";
import { answered, type LabRun, runOf, said } from "./run-of.ts";
import { dana, lookedUp, noon, stepOf, waitingOf } from "./step-of.ts";

const question = said("Refund order 1042, the customer was charged twice.");
const found = "Order 1042 was charged twice: 99.80 EUR were paid for 49.90 EUR. I would refund one charge.";

const limits = [
  "turns",
  "calls",
  "tokens",
  "time",
  "repeats",
  "failures",
  "depth",
  "completion",
  "log-size",
] as const satisfies readonly LimitName[];

/** The conversation around the steps: its beginning, its ways to end, and the connection. */
export const conversationStates: Readonly<Record<string, () => LabRun>> = {
  empty: () => runOf([]),
  loading: () => runOf([], { loading: true }),
  thinking: () => runOf([question], { status: "running", phase: "thinking" }),
  writing: () =>
    runOf([question, answered(lookedUp, "Order 1042 was charged tw")], { status: "running", phase: "writing" }),
  stopping: () => runOf([question, answered(lookedUp)], { status: "running", phase: "thinking", stopping: true }),
  finished: () =>
    runOf([
      question,
      answered(
        lookedUp,
        found,
        stepOf("refund", {
          input: { orderId: "1042", amount: 20, reason: "charged twice" },
          output: { orderId: "1042", refunded: 20, status: "partly-refunded" },
          startedAt: noon,
          endedAt: noon + 2_400,
          decision: {
            kind: "approval",
            action: "approve",
            by: { id: "lab" },
            via: "browser",
            at: noon,
            digest: "",
            originalInput: { orderId: "1042", amount: 49.9, reason: "charged twice" },
          },
        }),
        "Done. You changed the amount from 49.90 to 20.00 EUR, so I refunded 20.00 EUR.",
      ),
    ]),
  ...Object.fromEntries(
    limits.map((limit) => [
      `limit-${limit}`,
      () => runOf([question, answered(lookedUp, found)], { outcome: "limited", limit }),
    ]),
  ),
  stopped: () =>
    runOf([question, answered(lookedUp, { type: "notice", outcome: "stopped", by: { id: "lab" } })], {
      outcome: "stopped",
    }),
  failed: () => runOf([question, answered(lookedUp)], { outcome: "failed", code: "model-failed" }),
  error: () =>
    runOf([question], {
      error: { code: "unavailable", message: "The server could not read this conversation.", reference: "r-7f3a91" },
    }),
  earlier: () =>
    runOf([
      { ...answered(lookedUp, { type: "notice", outcome: "stopped", by: dana }), id: "old", runId: "old" },
      said("Then only look it up again.", "again"),
      answered(found),
    ]),
  offline: () =>
    runOf([question, answered(lookedUp)], { status: "running", phase: "tools", connection: { status: "offline" } }),
  reconnecting: () =>
    runOf([question, answered(lookedUp)], {
      status: "running",
      phase: "thinking",
      connection: { status: "reconnecting", attempt: 2, nextAt: noon },
    }),
  removed: () => runOf([question], { connection: { status: "removed" } }),
  queued: () => {
    const later = said("And write Mia a short note, please.", "later");
    return runOf([question, answered(lookedUp, found, waitingOf("refund")), later], { queued: [later] });
  },
  "many-steps": () => {
    const steps = Array.from({ length: 40 }, (_, index) => ({
      ...lookedUp,
      id: `step-${index}`,
      summary: String(1000 + index),
    }));
    return runOf([question, answered(...steps, found, waitingOf("refund"))]);
  },
  "long-text": () =>
    runOf([said(long), answered(long, stepOf("long", { input: { note: long }, output: { note: long } }), long)]),
  injection: () =>
    runOf([
      said("Read me the customer's note."),
      answered(evilText, stepOf("evil", { title: evilText, output: evilText })),
    ]),
};

const long = [
  "A paragraph that goes on for a while, because people write like that when nobody stops them, and a chat must hold it.",
  "",
  `https://shop.example/orders?query=${"a-very-long-address-without-a-break-".repeat(4)}end, and then it goes on.`,
  "",
  "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(2),
].join("\n");
