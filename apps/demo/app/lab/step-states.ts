import type { AnyStep } from "toolrun";
import { answered, type LabRun, runOf, said } from "./run-of.ts";
import { dana, decided, lookedUp, noon, stepOf, waitingOf } from "./step-of.ts";

const one =
  (step: AnyStep, given: Partial<LabRun> = {}) =>
  (): LabRun =>
    runOf([said("Refund order 1042, the customer was charged twice."), answered(lookedUp, step)], given);
const active = { status: "running", phase: "tools", outcome: undefined } as const;
const lines = Array.from(
  { length: 12 },
  (_, index) => `12:03:${String(index).padStart(2, "0")} saved order ${1300 + index}`,
);

/** One step in each of its states. */
export const stepStates: Readonly<Record<string, () => LabRun>> = {
  preparing: one(stepOf("refund", { status: "writing", input: null, draft: '{"orderId":"1042","amount":4' }), {
    ...active,
    phase: "calling",
  }),
  "step-queued": one(stepOf("refund", { status: "queued" }), active),
  approved: one(stepOf("refund", { status: "queued", decision: decided("approve") }), active),
  running: () =>
    one(
      stepOf("refund", { status: "running", startedAt: Date.now() - 14_000, decision: decided("approve") }),
      active,
    )(),
  progress: () =>
    one(
      stepOf("import", {
        tool: "importOrders",
        title: "Import orders",
        summary: "orders.csv",
        status: "running",
        startedAt: Date.now() - 14_000,
        progress: { value: 87, max: 200, label: "order 1387" },
        log: lines,
        decision: decided("approve"),
      }),
      active,
    )(),
  "progress-label": one(stepOf("refund", { status: "running", progress: { label: "Talking to the bank" } }), active),
  retrying: () =>
    one(
      stepOf("refund", {
        status: "running",
        attempt: 1,
        retryAt: Date.now() + 3_000,
        lastError: "HTTP 500 from the bank",
      }),
      active,
    )(),
  again: () =>
    one(
      stepOf("refund", {
        status: "running",
        attempt: 2,
        lastError: "HTTP 500 from the bank",
        startedAt: Date.now() - 4_000,
      }),
      active,
    )(),
  answered: one(
    stepOf("refund", {
      output: { refunded: 49.9 },
      earlier: [decided("approve")],
      decision: decided("answer", { value: "Credit card", at: noon + 20_000 }),
    }),
  ),
  succeeded: one(
    stepOf("refund", {
      output: { refunded: 49.9 },
      startedAt: noon,
      endedAt: noon + 1_200,
      decision: decided("approve"),
    }),
  ),
  "empty-results": () =>
    runOf([
      said("Show me nothing."),
      answered(
        ...[0, false, "", null, [], {}].map((output, index) =>
          stepOf(`empty-${index}`, { title: `Result ${index + 1}`, output, input: {} }),
        ),
      ),
    ]),
  "table-result": one(
    stepOf("list", {
      tool: "listOrders",
      title: "List orders",
      summary: "returned",
      output: Array.from({ length: 26 }, (_, index) => ({
        order: 1000 + index,
        customer: "Mia Chen",
        amount: 12.5 + index,
        status: "returned",
      })),
    }),
  ),
  "step-failed": one(
    stepOf("refund", {
      status: "failed",
      error: { code: "tool-error", message: "Only 20.00 € can still be refunded on order 1042." },
    }),
  ),
  "timed-out": one(
    stepOf("refund", { status: "failed", error: { code: "timed-out", message: "" }, effect: "unknown" }),
  ),
  "unknown-tool": one(
    stepOf("gone", {
      tool: "deleteUser",
      title: "Delete user",
      status: "failed",
      error: { code: "unknown-tool", message: "" },
    }),
  ),
  denied: one(
    stepOf("refund", { status: "not-run", reason: "denied", decision: decided("deny", { reason: "Wrong target" }) }),
  ),
  "denied-elsewhere": one(
    stepOf("refund", {
      status: "not-run",
      reason: "denied",
      decision: decided("deny", { by: dana, reason: "Ask me first" }),
    }),
  ),
  expired: one(
    stepOf("refund", {
      status: "not-run",
      reason: "expired",
      decision: decided("expire", { by: undefined, via: "clock" }),
    }),
  ),
  skipped: one(stepOf("refund", { status: "not-run", reason: "skipped", decision: decided("skip") })),
  "not-run": one(stepOf("refund", { status: "not-run", reason: "stopped" })),
  blocked: one(stepOf("refund", { status: "not-run", reason: "blocked", error: undefined })),
  granted: one(stepOf("refund", { grantId: "grant", output: { refunded: 5 } })),
  nested: one(researcher(stepOf("log", { title: "Read payment log", status: "running" })), active),
  "nested-approval": one(researcher(waitingOf("back", { title: "Give money back" }))),
  "nested-twice": one(researcher(researcher(waitingOf("back", { title: "Give money back" }), "inner"))),
};

/** A sub-agent at work. */
function researcher(step: AnyStep, id = "research"): AnyStep {
  const first = { ...lookedUp, id: `${id}-first` };
  const about = { tool: "research", title: "Researcher", input: { prompt: "Why was it charged twice?" } };
  return stepOf(id, { ...about, status: "running", children: [first, step] });
}
