import type { ActionResult, Ask, Grant } from "toolrun";
import { answered, type LabRun, runOf, said } from "./run-of.ts";
import { dana, decided, lookedUp, noon, stepOf, waitingOf } from "./step-of.ts";

const question = said("Refund order 1042, the customer was charged twice.");
const found = "Order 1042 was charged twice. I would refund one charge.";
const refuse = (result: Omit<Extract<ActionResult, { ok: false }>, "ok">) => (): Promise<ActionResult> =>
  Promise.resolve({ ok: false, ...result });

function grantOf(grantId: string, given: Partial<Grant>): Grant {
  return {
    ...{ grantId, seq: 1, verdict: "allow", tool: "refundOrder", path: [], input: { orderId: "1042", amount: 49.9 } },
    ...{ used: 0, scope: "thread", by: { id: "lab" }, at: noon },
    ...given,
  };
}

const grants: readonly Grant[] = [
  grantOf("all", { label: "Refunds of order 1042", used: 2, uses: 5, expiresAt: Date.now() + 3_600_000 }),
  grantOf("exact", { scope: "run", used: 1, by: dana }),
  grantOf("never", { verdict: "deny", input: { orderId: "1013", amount: 900 }, reason: "Never this much." }),
];

const byGrant = [
  stepOf("one", { grantId: "all", summary: "20.00 EUR of order 1042", startedAt: noon, endedAt: noon + 900 }),
  stepOf("two", { grantId: "exact", startedAt: noon, endedAt: noon + 900 }),
  stepOf("three", { grantId: "gone", startedAt: noon, endedAt: noon + 900 }),
  stepOf("four", { grantId: "never", status: "not-run", reason: "blocked", input: { orderId: "1013", amount: 900 } }),
];

const archive = (id: string, orderId: string) =>
  waitingOf(
    id,
    {
      tool: "archiveOrder",
      title: "Archive order",
      destructive: true,
      input: { orderId },
      summary: `Order ${orderId}`,
    },
    { reason: undefined, editable: false, schema: undefined },
  );

const giftSchema = {
  type: "object",
  properties: {
    size: { enum: ["small", "medium", "large"] },
    pieces: { type: "integer", title: "How many", minimum: 1, maximum: 20 },
    colors: { type: "array", title: "Colours", items: { enum: ["red", "green", "blue"] } },
    tags: { type: "array", items: { type: "string" } },
    gift: { type: "boolean", title: "Wrap it as a gift" },
    address: {
      type: "object",
      properties: { city: { type: "string" }, zip: { type: "string" } },
      required: ["city", "zip"],
    },
    note: { type: "string", maxLength: 200 },
  },
  required: ["size", "pieces", "colors", "gift", "address"],
} as const;

/** A step that asks for something else than a yes. */
function asked(ask: Partial<Ask>, given: Partial<LabRun> = {}): () => LabRun {
  const { kind = "question" } = ask;
  const title = kind === "browser" ? "Look where you are" : kind === "link" ? "Import statement" : "Ask the person";
  const step = stepOf("ask", {
    title,
    status: "waiting",
    input: kind === "browser" ? { precise: false } : {},
    ask: { kind, digest: "digest", askedAt: noon, ...ask },
  });
  return () => runOf([question, answered(lookedUp, step)], given);
}

/** Everything that waits for a person. */
export const decisionStates: Readonly<Record<string, () => LabRun>> = {
  approval: () => runOf([question, answered(lookedUp, found, waitingOf("refund"))]),
  destructive: () => runOf([question, answered(archive("archive", "1013"))]),
  "long-reason": () =>
    runOf([
      question,
      answered(
        waitingOf(
          "refund",
          { summary: "49.90 EUR to Mia Chen" },
          { reason: "More than this person may give back without a second look." },
        ),
      ),
    ]),
  sending: () => runOf([question, answered(lookedUp, found, waitingOf("refund", { sending: true }))]),
  refused: () =>
    runOf([question, answered(lookedUp, found, waitingOf("refund"))], {
      approve: refuse({ code: "network", message: "The server could not be reached." }),
      deny: refuse({ code: "network", message: "The server could not be reached." }),
    }),
  issues: () =>
    runOf([question, answered(lookedUp, found, waitingOf("refund"))], {
      approve: refuse({
        code: "invalid-input",
        message: "The input does not fit.",
        issues: [{ path: ["amount"], message: "At most 49.90 can be refunded." }],
      }),
    }),
  expiring: () =>
    runOf([question, answered(waitingOf("refund", {}, { expiresAt: Date.now() + 9 * 60_000, extendMs: 600_000 }))]),
  "expires soon": () =>
    runOf([question, answered(waitingOf("refund", {}, { expiresAt: Date.now() + 45_000, extendMs: 60_000 }))]),
  rememberable: () =>
    runOf([
      question,
      answered(
        waitingOf(
          "refund",
          {},
          {
            scopes: ["once", "run", "thread"],
            grant: { label: "Refunds of order 1042, whatever the amount", uses: 5, forMs: 3_600_000 },
          },
        ),
      ),
    ]),
  "denied before": () =>
    runOf([
      question,
      answered(
        stepOf("denied", {
          status: "not-run",
          reason: "denied",
          decision: { ...decided("deny"), reason: "Ask Mia first." },
        }),
        "Then only a part of it?",
        waitingOf(
          "refund",
          { input: { orderId: "1042", amount: 20 } },
          { denied: { by: { id: "lab" }, at: noon, reason: "Ask Mia first." }, scopes: ["once", "run"] },
        ),
      ),
    ]),
  remembered: () => runOf([question, answered(...byGrant)], { grants }),
  "remembered, viewer": () =>
    runOf([question, answered(...byGrant)], { grants, access: { send: false, decide: false, remove: false } }),
  viewer: () =>
    runOf([question, answered(lookedUp, found, waitingOf("refund"))], {
      access: { send: false, decide: false, remove: false },
    }),
  hidden: () =>
    runOf([
      question,
      answered(
        waitingOf("refund", { input: { orderId: "1042\u202e0001", amount: 49.9, reason: "charged\u200b twice" } }),
      ),
    ]),
  "rich-input": () =>
    runOf([
      question,
      answered(
        waitingOf(
          "import",
          {
            tool: "importOrders",
            title: "Import orders",
            input: {
              file: "orders.csv",
              dryRun: false,
              limit: 0,
              note: "",
              tags: [],
              customer: null,
              rows: [
                { order: 1043, name: "Ada", amount: 12.5 },
                { order: 1044, name: "Ben", amount: 8 },
              ],
              options: { mode: "merge", retry: { times: 3 } },
              text: "A long text. ".repeat(60),
            },
          },
          { schema: undefined },
        ),
      ),
    ]),
  batch: () =>
    runOf([
      said("Tidy up old orders."),
      answered(
        stepOf("list", {
          tool: "listOrders",
          title: "List orders",
          summary: "returned, before March",
          startedAt: noon,
          endedAt: noon + 800,
        }),
        "Three orders were returned and never closed.",
        archive("archive-1", "1013"),
        waitingOf("refund-1", { input: { orderId: "1008", amount: 12 } }),
        waitingOf("refund-2", { input: { orderId: "1009", amount: 15.5 } }),
      ),
    ]),
  question: asked({
    kind: "question",
    prompt: "Which of Mia's two accounts should get the money?",
    schema: {
      anyOf: [
        { const: "card", title: "Credit card" },
        { const: "bank", title: "Bank account" },
      ],
    },
  }),
  "free-question": asked({
    kind: "question",
    prompt: "What should I write to Mia?",
    schema: { type: "string", maxLength: 500 },
  }),
  "form-question": asked({ kind: "question", prompt: "What should the gift be?", schema: giftSchema }),
  "form-issues": asked(
    { kind: "question", prompt: "What should the gift be?", schema: giftSchema },
    {
      answer: refuse({
        code: "invalid-input",
        message: "This answer does not fit the question.",
        issues: [
          { path: ["pieces"], message: "Only 3 are left." },
          { path: ["address", "zip"], message: "We do not deliver there." },
        ],
      }),
    },
  ),
  link: asked({ kind: "link", prompt: "Connect your bank first.", url: "https://bank.example/connect?shop=1042" }),
  "unsafe-link": asked({ kind: "link", prompt: "Connect your bank first.", url: "javascript:alert(1)" }),
  "browser-here": asked({ kind: "browser" }, { browserSteps: { ask: "here" } }),
  "browser-elsewhere": asked({ kind: "browser" }, { browserSteps: { ask: "elsewhere" } }),
  "browser-nowhere": asked({ kind: "browser" }),
  interrupted: () =>
    runOf([
      question,
      answered(
        lookedUp,
        stepOf("refund", {
          status: "waiting",
          attempt: 1,
          ask: { kind: "interrupted", digest: "digest", askedAt: noon },
        }),
      ),
    ]),
};
