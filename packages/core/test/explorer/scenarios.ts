import type { Call, Thread } from "../../src/protocol/thread.ts";
import { openAsk, rootOf } from "../../src/protocol/thread.ts";
import type { Post, Scenario } from "./scenario.ts";

const SEND: Post = { act: "send", key: "hello", to: ["A", "B"] };
const APPROVE: Post = { act: "approve", key: "yes", to: ["B", "A"] };
const PAY = { servers: ["A", "B"], tools: { pay: {} }, calls: ["pay"] } as const;

const isAsked = (thread: Thread): boolean => callsOf(thread).some((call) => openAsk(call)?.kind === "approval");
const isQuestion = (thread: Thread): boolean => callsOf(thread).some((call) => openAsk(call)?.kind === "question");
const isRunning = (thread: Thread): boolean => rootOf(thread) !== undefined;
const isStarted = (thread: Thread): boolean => callsOf(thread).some((call) => call.status === "running");
const hasEnded = (thread: Thread): boolean => thread.runs.length > 0;

function callsOf(thread: Thread): readonly Call[] {
  return thread.active.flatMap((run) => run.turn?.calls ?? []);
}

/** Each as small as the situation allows. */
export const scenarios: readonly Scenario[] = [
  { name: "text only", servers: ["A", "B"], people: [[SEND]], follows: 1 },
  {
    name: "one read-only call",
    servers: ["A", "B"],
    tools: { find: { readOnly: true } },
    calls: ["find"],
    people: [[SEND]],
    follows: 1,
  },
  { name: "approved", ...PAY, people: [[SEND, APPROVE]] },
  { name: "approved, with takeover", ...PAY, people: [[SEND, APPROVE]], follows: 1 },
  { name: "denied", ...PAY, people: [[SEND, { act: "deny", key: "no", to: ["B", "A"] }]] },
  { name: "edited", ...PAY, people: [[SEND, { act: "edit", key: "edit", to: ["B", "A"] }]] },
  {
    name: "approve against deny",
    ...PAY,
    people: [[SEND, { ...APPROVE, to: ["A"] }], [{ act: "deny", key: "no", to: ["B"], when: isAsked }]],
  },
  {
    name: "the same approval twice at once",
    ...PAY,
    people: [[SEND, { ...APPROVE, to: ["A"] }], [{ ...APPROVE, to: ["B"], when: isAsked }]],
  },
  {
    name: "approve against stop",
    ...PAY,
    people: [[SEND, APPROVE], [{ act: "stop", key: "stop", to: ["A", "B"], when: isAsked }]],
  },
  {
    name: "stop with nobody driving",
    ...PAY,
    people: [[SEND, { act: "stop", key: "stop", to: ["B", "A"], when: isAsked }]],
  },
  {
    name: "stop while text streams",
    servers: ["A", "B"],
    people: [[SEND], [{ act: "stop", key: "stop", to: ["B", "A"], when: isRunning }]],
  },
  {
    name: "stop a silent tool from another server",
    servers: ["A", "B"],
    tools: { wait: { readOnly: true, silent: true } },
    calls: ["wait"],
    people: [[SEND], [{ act: "stop", key: "stop", to: ["B", "A"], when: isStarted }]],
  },
  {
    name: "a message steers",
    servers: ["A", "B"],
    people: [[SEND], [{ act: "send", key: "and", to: ["B", "A"], when: isRunning }]],
  },
  {
    name: "a message after the end",
    servers: ["A", "B"],
    people: [[SEND, { act: "send", key: "and", to: ["B", "A"], when: hasEnded }]],
  },
  {
    name: "a message while a tool runs",
    servers: ["A", "B"],
    tools: { find: { readOnly: true } },
    calls: ["find"],
    people: [[SEND], [{ act: "send", key: "and", to: ["B", "A"], when: isStarted }]],
  },
  {
    name: "a message during the last turn",
    servers: ["A", "B"],
    agent: { limits: { turns: 1 } },
    people: [[SEND], [{ act: "send", key: "and", to: ["B", "A"], when: isRunning }]],
  },
  {
    name: "expiry against approve",
    servers: ["A", "B"],
    tools: { pay: { expiresInMs: 5_000 } },
    calls: ["pay"],
    people: [[SEND, { ...APPROVE, to: ["A"] }], [{ act: "approve", key: "late yes", to: ["B"], when: isAsked }]],
    wallAhead: { B: 6_000 },
  },
  {
    name: "an idempotent tool fails once",
    servers: ["A", "B"],
    tools: { pay: { idempotent: true, fails: [1] } },
    calls: ["pay"],
    people: [[SEND, APPROVE]],
    follows: 1,
  },
  {
    name: "an idempotent tool fails once, definitely",
    servers: ["A", "B"],
    tools: { pay: { idempotent: true, fails: [1], definite: true } },
    calls: ["pay"],
    people: [[SEND, APPROVE]],
  },
  {
    name: "an interrupted call is tried again",
    ...PAY,
    people: [[SEND, APPROVE, { act: "retry", key: "retry", to: ["B", "A"] }]],
    follows: 2,
  },
  {
    name: "two calls of one turn",
    ...PAY,
    calls: ["pay", "pay"],
    people: [[SEND, APPROVE, { ...APPROVE, key: "yes too" }]],
  },
  {
    name: "stop, and nobody drives posts",
    ...PAY,
    drivesPosts: false,
    people: [[SEND], [{ act: "stop", key: "stop", to: ["B", "A"], when: isAsked }]],
    follows: 1,
  },
  {
    name: "stop a silent tool on its own server",
    ...PAY,
    tools: { pay: { silent: true } },
    people: [[SEND, { ...APPROVE, to: ["A"] }], [{ act: "stop", key: "stop", to: ["A"], when: isStarted }]],
  },
  {
    name: "a sub-agent asks for an approval",
    servers: ["A", "B"],
    tools: { pay: {}, helper: { agent: ["pay"] } },
    calls: ["helper"],
    people: [[SEND, APPROVE]],
    follows: 1,
  },
  {
    name: "a stop while a sub-agent waits",
    servers: ["A", "B"],
    tools: { pay: {}, helper: { agent: ["pay"] } },
    calls: ["helper"],
    people: [[SEND], [{ act: "stop", key: "stop", to: ["B", "A"], when: isAsked }]],
  },
  {
    name: "a sub-agent two levels down, taken over",
    servers: ["A", "B"],
    tools: { find: { readOnly: true }, helper: { agent: ["find"] }, boss: { agent: ["helper"] } },
    calls: ["boss"],
    people: [[SEND]],
    follows: 1,
  },
  {
    name: "a question",
    servers: ["A", "B"],
    tools: { question: { question: true } },
    calls: ["question"],
    people: [[SEND, { act: "answer", key: "three", to: ["B", "A"] }]],
  },
  {
    name: "a question answered twice at once",
    servers: ["A", "B"],
    tools: { question: { question: true } },
    calls: ["question"],
    people: [
      [SEND, { act: "answer", key: "three", to: ["B", "A"] }],
      [{ act: "answer", key: "also three", to: ["A"], when: isQuestion }],
    ],
  },
  {
    name: "a tool that asks on its way",
    servers: ["A", "B"],
    tools: { pay: { asks: true } },
    calls: ["pay"],
    people: [[SEND, APPROVE, { act: "answer", key: "this one", to: ["B", "A"] }]],
    follows: 1,
  },
  {
    name: "followers drive",
    ...PAY,
    drivesPosts: false,
    people: [[SEND, APPROVE]],
    follows: 2,
  },
];

export function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (!found) throw new Error(`There is no scenario "${name}".`);
  return found;
}
