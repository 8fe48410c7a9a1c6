import type { Call, Thread } from "../../src/protocol/thread.ts";
import { openAsk, rootOf } from "../../src/protocol/thread.ts";
import type { Post, Scenario } from "./scenario.ts";
import { FORBIDDEN } from "./scenario.ts";

/** Where every schedule takes too long for each day. */
const MANY = 200;

const SEND: Post = { act: "send", key: "hello", to: ["A", "B"] };
const APPROVE: Post = { act: "approve", key: "yes", to: ["B", "A"] };
const PAY = { servers: ["A", "B"], tools: { pay: {} }, calls: ["pay"] } as const;

const FIND = { servers: ["A", "B"], tools: { find: { readOnly: true } } } as const;
const TIMED = { servers: ["A", "B"], tools: { pay: { expiresInMs: 5_000 } }, calls: ["pay"] } as const;
const HELPED = {
  servers: ["A", "B"],
  tools: { find: { readOnly: true }, pay: {}, helper: { agent: ["pay"] } },
} as const;

const areTwoAsked = (thread: Thread): boolean => callsOf(thread).filter((call) => openAsk(call)).length > 1;
const isHeld = (thread: Thread): boolean => thread.grants.length > 0 && rootOf(thread)?.status === "waiting";
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
  // Edits
  {
    name: "edited into what is denied, then approved",
    most: MANY,
    servers: ["A", "B"],
    tools: { pay: { denies: true } },
    calls: ["pay"],
    people: [[SEND, { act: "edit", key: "too much", to: ["B", "A"], input: FORBIDDEN }, APPROVE]],
  },
  {
    name: "edit against approve",
    ...PAY,
    people: [[SEND, { ...APPROVE, to: ["A"] }], [{ act: "edit", key: "edit", to: ["B"], when: isAsked }]],
  },
  // Batches
  {
    name: "a batch of three",
    most: MANY,
    ...PAY,
    calls: ["pay 1", "pay 2", "pay 3"],
    people: [[SEND, { ...APPROVE, all: true }]],
  },
  {
    name: "a batch against a denial of the last of it",
    ...PAY,
    calls: ["pay 1", "pay 2"],
    people: [
      [SEND, { ...APPROVE, all: true, to: ["A"] }],
      [{ act: "deny", key: "no", to: ["B"], which: "last", when: isAsked }],
    ],
  },
  // Parallel calls
  { name: "two calls at once", most: MANY, ...FIND, calls: ["find 1", "find 2"], people: [[SEND]], follows: 1 },
  {
    name: "two approved calls at once, taken over",
    most: MANY,
    ...PAY,
    calls: ["pay 1", "pay 2"],
    people: [[SEND, { ...APPROVE, all: true }]],
    follows: 1,
  },
  {
    name: "a call waits beside one that runs",
    most: MANY,
    servers: ["A", "B"],
    tools: { find: { readOnly: true }, pay: {} },
    calls: ["find", "pay"],
    people: [[SEND, APPROVE]],
    follows: 1,
  },
  // Grants
  {
    name: "an approval for the run lets its like go",
    ...PAY,
    calls: ["pay 1", "pay 1", "pay 2"],
    people: [[SEND, { ...APPROVE, scope: "run" }]],
  },
  {
    name: "an approval for the run, and the next run",
    most: MANY,
    ...PAY,
    again: true,
    people: [[SEND, { ...APPROVE, scope: "run" }, { act: "send", key: "and", to: ["B", "A"], when: hasEnded }]],
  },
  {
    name: "an approval for the thread, and the next run",
    most: MANY,
    ...PAY,
    again: true,
    people: [[SEND, { ...APPROVE, scope: "thread" }, { act: "send", key: "and", to: ["B", "A"], when: hasEnded }]],
  },
  {
    name: "taken back while the next run begins",
    most: MANY,
    ...PAY,
    again: true,
    people: [
      [SEND, { ...APPROVE, scope: "thread" }, { act: "send", key: "and", to: ["B"], when: hasEnded }],
      [{ act: "revoke", key: "never mind", to: ["A"], when: hasEnded }],
    ],
  },
  {
    name: "taken back before its start",
    most: MANY,
    ...PAY,
    agent: { holdTurn: true },
    calls: ["pay 1", "pay 1", "pay 2"],
    people: [
      [
        SEND,
        { ...APPROVE, scope: "run" },
        { ...APPROVE, key: "yes too", all: true },
        { ...APPROVE, key: "all", all: true },
      ],
      [{ act: "revoke", key: "never mind", to: ["A"] }],
    ],
  },
  {
    name: "taken back before its start, and nobody drives posts",
    most: MANY,
    ...PAY,
    agent: { holdTurn: true },
    drivesPosts: false,
    calls: ["pay 1", "pay 1", "pay 2"],
    people: [[SEND, { ...APPROVE, scope: "run" }, { act: "revoke", key: "never mind", to: ["A"], when: isHeld }]],
    follows: 1,
  },
  {
    name: "a denial for the run",
    most: MANY,
    ...PAY,
    calls: ["pay 1", "pay 1", "pay 2"],
    people: [[SEND, { act: "deny", key: "no", to: ["B", "A"], scope: "run" }, { ...APPROVE, key: "yes" }]],
  },
  // Expiry
  {
    name: "approved in time, or not",
    ...TIMED,
    people: [[SEND, { ...APPROVE, to: ["A"] }]],
  },
  {
    name: "more time, then approved",
    most: MANY,
    ...TIMED,
    people: [[SEND, { act: "extend", key: "wait", to: ["B", "A"] }, APPROVE]],
  },
  {
    name: "more time for a question of 40 seconds",
    most: MANY,
    ...TIMED,
    tools: { pay: { expiresInMs: 40_000 } },
    people: [[SEND, { act: "extend", key: "wait", to: ["B", "A"] }, APPROVE]],
  },
  {
    name: "more time against a clock that is ahead",
    most: MANY,
    ...TIMED,
    people: [
      [SEND, { act: "extend", key: "wait", to: ["A"] }],
      [{ act: "approve", key: "late yes", to: ["B"], when: isAsked }],
    ],
    wallAhead: { B: 6_000 },
  },
  // Sub-agents
  {
    name: "two sub-agents wait side by side",
    most: MANY,
    ...HELPED,
    calls: ["helper 1", "helper 2"],
    people: [[SEND, APPROVE, { ...APPROVE, key: "yes too" }]],
  },
  {
    name: "a sub-agent waits beside a call that runs",
    most: MANY,
    ...HELPED,
    calls: ["helper", "find"],
    people: [[SEND, APPROVE]],
  },
  {
    name: "an approval for the run reaches another sub-agent's call",
    most: MANY,
    ...HELPED,
    calls: ["helper 1", "helper 2"],
    people: [[SEND, { ...APPROVE, scope: "run", when: areTwoAsked }]],
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
