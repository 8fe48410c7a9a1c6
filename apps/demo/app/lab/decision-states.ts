import type { ActionResult } from "toolrun";
import { answered, type LabRun, runOf, said } from "./run-of.ts";
import { lookedUp, noon, stepOf, waitingOf } from "./step-of.ts";

const question = said("Refund order 1042, the customer was charged twice.");
const found = "Order 1042 was charged twice. I would refund one charge.";
const refuse = (result: Omit<Extract<ActionResult, { ok: false }>, "ok">) => (): Promise<ActionResult> =>
  Promise.resolve({ ok: false, ...result });

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
  expiring: () => runOf([question, answered(waitingOf("refund", {}, { expiresAt: Date.now() + 9 * 60_000 }))]),
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
  question: () =>
    runOf([
      question,
      answered(
        stepOf("ask", {
          tool: "askPerson",
          title: "Ask the person",
          status: "waiting",
          input: { question: "Which of Mia's two accounts should get the money?" },
          ask: {
            kind: "question",
            digest: "digest",
            askedAt: noon,
            schema: { type: "string", enum: ["Card", "Bank"] },
          },
        }),
      ),
    ]),
  "free-question": () =>
    runOf([
      question,
      answered(
        stepOf("ask", {
          title: "Ask the person",
          status: "waiting",
          input: {},
          ask: {
            kind: "question",
            prompt: "What should I write to Mia?",
            digest: "digest",
            askedAt: noon,
            schema: { type: "string", maxLength: 500 },
          },
        }),
      ),
    ]),
  link: () =>
    runOf([
      question,
      answered(
        stepOf("link", {
          status: "waiting",
          ask: {
            kind: "link",
            prompt: "Connect your bank first.",
            url: "https://bank.example/connect",
            digest: "digest",
            askedAt: noon,
          },
        }),
      ),
    ]),
  browser: () =>
    runOf([
      question,
      answered(
        stepOf("place", {
          title: "Share where you are",
          status: "waiting",
          input: { precise: false },
          ask: { kind: "browser", digest: "digest", askedAt: noon },
        }),
      ),
    ]),
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
