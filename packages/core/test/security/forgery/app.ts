import * as z from "zod";
import type { Agent } from "../../../src/agent/agent.ts";
import type { ToolContext } from "../../../src/agent/tool-context.ts";
import type { Verdict } from "../../../src/agent/verdict.ts";
import type { Model, ModelRequest } from "../../../src/model/model.ts";
import type { Asked } from "./cases.ts";
import { CASES, INNER } from "./cases.ts";

export type Subject = typeof import("./subject.ts");

/** One run of a tool. */
export interface Execution {
  readonly tool: string;
  readonly input: unknown;
  readonly callId: string;
  readonly threadId: string;
  readonly userId: string;
}

/** The text of a rule that only the server may see. */
export const GRANT_KEY = "server-only-grant-key";
const REFUND_FIELDS = {
  orderId: z.string(),
  amount: z.number().positive().max(1000),
  note: z.string().default("none"),
};

/** What a refund's card allows. */
function refundRule({ orderId }: { readonly orderId: string }): Verdict {
  switch (orderId) {
    case "locked":
      return { ask: { editable: false, scopes: ["once"] } };
    case "editable":
      return { ask: { editable: ["amount"], scopes: ["once", "run"] } };
    case "expiring":
      return { ask: { expiresInMs: 600_000 } };
    case "keyed":
      return {
        ask: { scopes: ["once", "run", "thread"], grant: { key: [GRANT_KEY, orderId], label: "Refunds of it" } },
      };
    default:
      return { ask: { scopes: ["once", "run", "thread"] } };
  }
}

/** What a tenant's people may read, and nobody else: `secret note of a`. Of what a tool gave back, by thread. */
export const SECRET: RegExp = /secret (?:word|note|output|title) of ([\w-]+)/g;

/** The assistant of a tenant. `ran` is the journal of what its tools did; what hangs never ends. */
export function makeApp(
  subject: Subject,
  tenant: string,
  ran: (execution: Execution) => void,
  hangs: (execution: Execution) => boolean = () => false,
): Agent {
  const acts =
    (tool: string) =>
    (input: unknown, { callId, threadId, user }: ToolContext) => {
      const execution = { tool, input: structuredClone(input), callId, threadId, userId: user.id };
      ran(execution);
      return hangs(execution) ? new Promise<never>(() => undefined) : { done: `secret output of ${threadId}` };
    };
  const { tool } = subject;
  const inner = tool({
    description: "x",
    inputSchema: z.object(REFUND_FIELDS),
    approval: refundRule,
    execute: acts("refund"),
  });
  const helper = subject.defineAgent({
    model: scripted(tenant, () => INNER),
    name: "helper",
    tools: { refund: inner },
  });
  return subject.defineAgent({
    model: scripted(tenant, (name) => CASES[name]?.asks ?? []),
    tools: {
      refund: inner,
      wipe: tool({
        description: "x",
        inputSchema: z.object({ table: z.string() }),
        destructive: true,
        execute: acts("wipe"),
      }),
      charge: tool({ description: "x", inputSchema: z.object({ amount: z.number() }), execute: acts("charge") }),
      which: subject.questionTool({ description: "x", answerSchema: z.enum(["red", "blue"]) }),
      measure: subject.browserTool({
        description: "x",
        ...{ inputSchema: z.object({}), outputSchema: z.object({ width: z.number() }), readOnly: true },
      }),
      helper: subject.agentTool({ description: "x", agent: helper }),
    },
    policy: ({ input }) =>
      ((input as { amount?: number }).amount ?? 0) > 500 ? { deny: "More than 500 is never refunded." } : undefined, // of any tool
    limits: { repeats: false, failures: false },
  });
}

/** Asks for what the first message names, once for each message of the person. */
function scripted(tenant: string, asksOf: (name: string) => readonly Asked[]): Model {
  return {
    id: "scripted",
    async *stream({ messages }: ModelRequest) {
      const said = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
      const first = said.find((part) => part.type === "text");
      const name = first?.type === "text" ? (/^case (\w+)/.exec(first.text)?.[1] ?? "") : "";
      const last = messages.findLastIndex(({ role }) => role === "user");
      const isAnswered = messages.slice(last).some(({ role }) => role === "tool");
      const asks = isAnswered ? [] : asksOf(name);
      yield { type: "reasoning", text: "server-only-reasoning" };
      yield { type: "text", text: `${isAnswered ? "Done" : "Wait"}: secret word of ${tenant}.` };
      for (const [index, { tool, input }] of asks.entries()) {
        const noted = tool === "refund" ? { ...input, note: `secret note of ${tenant}` } : input;
        yield { type: "call", id: `p${index}`, name: tool, input: JSON.stringify(noted) };
      }
      yield { type: "end", reason: asks.length > 0 ? "tools" : "stop" };
    },
  };
}
