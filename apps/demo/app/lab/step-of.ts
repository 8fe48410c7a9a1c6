import type { AnyStep, Ask } from "toolrun";

/** 12:03 on a day that does not change: screenshots of it do not either. */
export const noon = Date.UTC(2026, 4, 4, 12, 3, 0);

const me = { id: "lab" };
export const dana = { id: "dana", name: "Dana" };

/** A step in any state, from what is special about it. */
export function stepOf(id: string, given: Partial<AnyStep>): AnyStep {
  return {
    id,
    threadId: "lab",
    tool: "refundOrder",
    title: "Refund order",
    status: "succeeded",
    input: { orderId: "1042", amount: 49.9, reason: "charged twice" },
    draft: "",
    digest: `digest-${id}`,
    destructive: false,
    ask: null,
    decision: null,
    earlier: [],
    attempt: given.status === "writing" || given.status === "waiting" ? 0 : 1,
    progress: null,
    log: [],
    children: [],
    sending: false,
    ...given,
  };
}

const refundSchema = {
  type: "object",
  properties: {
    orderId: { type: "string", title: "Order" },
    amount: { type: "number", title: "Amount in EUR", exclusiveMinimum: 0, description: "Up to what was paid." },
    reason: { type: "string", title: "Reason", maxLength: 300 },
    notify: { type: "boolean", title: "Tell the customer by e-mail", default: false },
  },
  required: ["orderId", "amount"],
} as const;

function askOf(given: Partial<Ask> = {}): Ask {
  const editable = { editable: true, schema: refundSchema };
  return { kind: "approval", digest: "digest", reason: "Moves money", askedAt: noon, ...editable, ...given };
}

export function waitingOf(id: string, given: Partial<AnyStep> = {}, ask: Partial<Ask> = {}): AnyStep {
  return stepOf(id, { status: "waiting", ask: askOf(ask), ...given });
}

export const lookedUp: AnyStep = stepOf("look-up", {
  tool: "findOrder",
  title: "Look up order",
  summary: "1042",
  input: { orderId: "1042" },
  output: { order: 1042, customer: "Mia Chen", total: 49.9, paid: 99.8, status: "paid" },
  startedAt: noon,
  endedAt: noon + 320,
});

export function decided(action: "approve" | "deny" | "skip" | "retry" | "answer" | "expire", given = {}) {
  return { kind: "approval", action, by: me, via: "browser", at: noon + 12_000, digest: "digest", ...given } as const;
}
