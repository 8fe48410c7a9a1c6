import { agentTool, ask, browserTool, defineAgent, questionTool, tool } from "toolrun/server";
import { z } from "zod";
import { researcher } from "./lab-scenarios.ts";

/** Tools that fail, hang, ask and delegate, one for each thing a run can meet. They touch nothing but themselves. */

const FAILURES = 2;

export const fetchRates = tool({
  title: "Fetch exchange rates",
  description: "Fetch today's exchange rates.",
  inputSchema: z.object({ currency: z.string() }),
  readOnly: true,
  maxRetries: 3,
  retry: { delayMs: 1_500, factor: 1, jitter: 0 },
  async execute({ currency }, { attempt }) {
    if (attempt <= FAILURES) throw new Error("HTTP 503 from the bank");
    return { currency, rate: 1.08 };
  },
});

export const callSupplier = tool({
  title: "Call the supplier",
  description: "Ask the supplier whether an article can be had.",
  inputSchema: z.object({ article: z.string() }),
  readOnly: true,
  async execute() {
    throw new Error("The supplier's line is dead.");
  },
});

export const checkStock = tool({
  title: "Check stock",
  description: "How many of an article are there.",
  inputSchema: z.object({ article: z.string() }),
  readOnly: true,
  execute: async ({ article }) => ({ article, pieces: 0 }),
});

export const readPage = tool({
  title: "Read page",
  description: "Read one page of the catalogue.",
  inputSchema: z.object({ page: z.int().min(1) }),
  readOnly: true,
  execute: async ({ page }) => ({ page, articles: 20 }),
});

export const scanWarehouse = tool({
  title: "Scan the warehouse",
  description: "Walk through the warehouse.",
  inputSchema: z.object({ hall: z.string() }),
  readOnly: true,
  timeoutMs: 3_000,
  async execute({ hall }, { signal, progress }) {
    progress({ label: `Hall ${hall}` });
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
});

export const askPerson = questionTool({
  title: "Ask the person",
  description: "Ask the person what the gift should be.",
  answerSchema: z.object({
    size: z.enum(["small", "medium", "large"]),
    pieces: z.int().min(1).max(20).meta({ title: "How many" }),
    colors: z
      .array(z.enum(["red", "green", "blue"]))
      .min(1, "Choose at least one.")
      .meta({ title: "Colours" }),
    email: z.email().meta({ title: "Send the receipt to" }),
    gift: z.boolean().meta({ title: "Wrap it as a gift" }),
    note: z.string().max(200).optional(),
  }),
});

export const pickColor = questionTool({
  title: "Pick a colour",
  description: "Ask the person for a colour.",
  answerSchema: z.enum(["red", "green", "blue"]),
});

export const importBank = tool({
  title: "Import bank statement",
  description: "Import the bank statement of a month.",
  inputSchema: z.object({ month: z.string() }),
  readOnly: true,
  async execute({ month }, { answer }) {
    if (answer === undefined) return ask({ prompt: "Connect your bank first.", url: "/lab/connect" });
    return { month, entries: 42 };
  },
});

export const whereAmI = browserTool({
  title: "Look where you are",
  description: "Where the person is, as far as the browser says.",
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({
    timeZone: z.string(),
    latitude: z.number().optional(),
    longitude: z.number().optional(),
  }),
});

export const giveBack = tool({
  title: "Give money back",
  description: "Give back what was paid for an order, in EUR.",
  inputSchema: z.object({
    orderId: z.string().meta({ title: "Order" }),
    amount: z
      .number()
      .positive()
      .refine((amount) => amount <= 100, "At most 100.00 EUR can be given back.") // no schema says so: only the server
      .meta({ title: "Amount (EUR)" }),
  }),
  approval: { ask: { reason: "Moves money" } },
  execute: async ({ orderId, amount }) => ({ orderId, givenBack: amount }),
});

export const deleteOrder = tool({
  title: "Delete order",
  description: "Delete an order and everything about it.",
  inputSchema: z.object({ orderId: z.string().meta({ title: "Order" }) }),
  destructive: true,
  execute: async ({ orderId }) => ({ orderId, deleted: true }),
});

export const sendMail = tool({
  title: "Send mail",
  description: "Send a mail to a customer.",
  inputSchema: z.object({ to: z.email(), text: z.string().meta({ title: "Text" }) }),
  approval: ({ to }) => ({
    ask: {
      scopes: ["once", "run", "thread"],
      grant: { key: to, label: `Mails to ${to}`, uses: 5, forMs: 3_600_000 },
    },
  }),
  execute: async ({ to, text }) => `“${text}” went to ${to}`,
});

export const bookCourier = tool({
  title: "Book a courier",
  description: "Book a courier at a price that holds for some seconds.",
  inputSchema: z.object({ price: z.number(), seconds: z.int().min(1).max(600).meta({ title: "Price holds (s)" }) }),
  approval: ({ seconds }) => ({ ask: { editable: false, scopes: ["once"], expiresInMs: seconds * 1_000 } }),
  execute: async ({ price }) => ({ booked: true, price }),
});

export const findPayments = tool({
  title: "Find payments",
  description: "The payments of an order.",
  inputSchema: z.object({ orderId: z.string().meta({ title: "Order" }) }),
  readOnly: true,
  execute: async ({ orderId }) => ({ orderId, payments: [49.9, 49.9] }),
});

export const research = agentTool({
  title: "Researcher",
  description: "Find out what went wrong with an order, and put it right.",
  agent: defineAgent({ name: "researcher", model: researcher(), tools: { findPayments, giveBack } }),
});
