import { defineAgent } from "../agent/define-agent.ts";
import { questionTool } from "../agent/question-tool.ts";
import type { StandardSchema } from "../agent/schema.ts";
import { textInput } from "../agent/text-input.ts";
import { tool } from "../agent/tool.ts";
import { ModelError } from "../model/model.ts";
import type { ToolRun, ToolRunOptions } from "../server/create-tool-run.ts";
import { createToolRun } from "../server/create-tool-run.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { ThreadStore } from "../store/thread-store.ts";
import { HALF_CHARACTERS, SECRETS, STRANGE_TEXT } from "./handler-texts.ts";
import type { ScriptedModel, ScriptedTurn } from "./scripted-model.ts";
import { call, calls, delay, fail, say, scriptedModel } from "./scripted-model.ts";

/** Settings of the platform; agent and users are the suite's own. */
export interface HandlerUnderTestOptions extends Partial<Omit<ToolRunOptions, "agent" | "identify" | "authorize">> {
  /** @defaultValue a memory store of its own */
  readonly store?: ThreadStore | undefined;
}

/**
 * The endpoint that `handlerConformance` talks to, to mount where the suite shall look: a scripted model that does what
 * the message says, tools that count what they did. One process must answer all requests, as they count in its memory.
 *
 * For tests only: whoever reaches it is the user whose id they put into `x-user`.
 * @throws `invalid-config` as `createToolRun` does.
 */
export function handlerUnderTest(options: HandlerUnderTestOptions = {}): ToolRun {
  const { store = memoryStore(), onError = () => undefined, ...rest } = options;
  const { counted, open } = countFollowers(store);
  return createToolRun({
    ...rest,
    agent: defineAgent({ name: "conformance", model: obedientModel(), tools: countingTools(open) }),
    store: counted,
    onError, // the cases make things fail
    identify: (request) => {
      const id = request.headers.get("x-user");
      if (id === "broken") throw new Error(SECRETS.signIn);
      return id ? { id } : null;
    },
  });
}

/** Does what the first word of a message says, and reports what its tools gave. */
function obedientModel(): ScriptedModel {
  return scriptedModel(({ results, lastUserText }) => {
    if (results.length > 0) {
      return say(
        JSON.stringify(results.map(({ status, reason, words, output }) => ({ status, reason, words, output }))),
      );
    }
    const [, word = "", text = ""] = /^(\S*) ?([\s\S]*)$/.exec(lastUserText) ?? [];
    return answerTo(word, text);
  });
}

function answerTo(word: string, text: string): ScriptedTurn {
  switch (word) {
    case "say":
      return say(text);
    case "count":
      return say(Array.from({ length: Number(text) }, (_, index) => `${index} `).join(""));
    case "hang":
      return calls(say("Once upon"), delay(Number.POSITIVE_INFINITY));
    case "fail":
      return fail(new ModelError(SECRETS.model, { retryable: false }));
    case "strange":
      return calls(...[STRANGE_TEXT, ...HALF_CHARACTERS].map(say), call("echo", { text: STRANGE_TEXT }));
    case "refund":
      return calls(...text.split(" ").map((order) => call("refund", { order, amount: 10 })));
    case "ask":
      return call("askColour", { question: "Which colour?" });
    case "ledger":
      return call("ledger", { order: text });
    case "followers":
      return call("followers", { threadId: text });
    default:
      return say("I do not know this word.");
  }
}

function countingTools(open: ReadonlyMap<string, number>) {
  const refunds = new Map<string, number[]>();
  return {
    refund: tool({
      description: "Refunds an order; asks first.",
      inputSchema: REFUND,
      approval: { ask: { scopes: ["once", "run", "thread"] } },
      execute: ({ order, amount }) => {
        refunds.set(order, [...(refunds.get(order) ?? []), amount]);
        return { refunded: amount };
      },
    }),
    ledger: tool({
      description: "The refunds of an order.",
      inputSchema: textInput("order", "The order."),
      readOnly: true,
      execute: ({ order }) => refunds.get(order) ?? [],
    }),
    followers: tool({
      description: "How many streams of a thread are open.",
      inputSchema: textInput("threadId", "The thread."),
      readOnly: true,
      execute: ({ threadId }) => open.get(threadId) ?? 0,
    }),
    echo: tool({
      description: "Gives back what it was given.",
      inputSchema: textInput("text", "Any text."),
      readOnly: true,
      execute: ({ text }) => text,
    }),
    askColour: questionTool({ description: "Asks for a colour.", answerSchema: textInput("colour", "A colour.") }),
  };
}

interface Refund {
  readonly order: string;
  readonly amount: number;
}

/** By hand: the suite brings no schema library along. */
const REFUND: StandardSchema<Refund> = {
  "~standard": {
    version: 1,
    vendor: "toolrun",
    jsonSchema: { input: refundJsonSchema, output: refundJsonSchema },
    validate(value) {
      const { order, amount } = value as Partial<Refund>; // judged below
      if (typeof order !== "string") return { issues: [{ message: "must be a text", path: ["order"] }] };
      if (typeof amount !== "number") return { issues: [{ message: "must be a number", path: ["amount"] }] };
      return { value: { order, amount } };
    },
  },
};

function refundJsonSchema(): Record<string, unknown> {
  return {
    type: "object",
    properties: { order: { type: "string" }, amount: { type: "number" } },
    required: ["order", "amount"],
    additionalProperties: false,
  };
}

/** A store that knows how many follow each of its threads. */
function countFollowers(store: ThreadStore): { readonly counted: ThreadStore; readonly open: Map<string, number> } {
  const open = new Map<string, number>();
  const add = (id: string, count: number): void => {
    const next = (open.get(id) ?? 0) + count;
    if (next > 0) open.set(id, next);
    else open.delete(id);
  };
  const counted: ThreadStore = {
    read: (id, after) => store.read(id, after),
    append: (id, position, append) => store.append(id, position, append),
    lease: (id, driverId, ttlMs) => store.lease(id, driverId, ttlMs),
    list: (owner, cursor, filter) => store.list(owner, cursor, filter),
    remove: (id) => store.remove(id),
    async *follow(id, after, signal) {
      add(id, 1);
      try {
        yield* store.follow(id, after, signal);
      } finally {
        add(id, -1);
      }
    },
  };
  return { counted, open };
}
