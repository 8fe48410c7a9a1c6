import type { Grant } from "./grant.ts";
import type { AnyStep } from "./step.ts";
import { viewStep } from "./step.ts";
import type { Call, Message, Run, Thread, Turn, TurnPart } from "./thread.ts";
import { rootOf, turnsOf } from "./thread.ts";
import type { Actor, LimitName, MessagePart, RunOutcome, Usage } from "./values.ts";

/** Why a run ended otherwise than by its answer; shown at the end of the assistant's message. */
export interface NoticePart {
  readonly type: "notice";
  readonly outcome: Exclude<RunOutcome, "completed">;
  readonly limit?: LimitName | undefined;
  readonly code?: string | undefined;
  readonly by?: Actor | undefined;
}

/** One part of a message, in the order it came. */
export type ViewPart<Step = AnyStep> =
  | Exclude<TurnPart, { type: "call" }>
  | MessagePart
  | { readonly type: "step"; readonly step: Step }
  | NoticePart;

export interface ViewMessage<Step = AnyStep> {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly ViewPart<Step>[];
  readonly at: number;
  readonly by?: Actor | undefined;
  readonly runId?: string | undefined;
  /** This tab's own message, posted and not confirmed yet. Never set by viewThread. */
  readonly sending?: boolean | undefined;
}

/** `thinking`: nothing of this turn yet · `writing`: text · `calling`: arguments · `tools`: tools run. */
export type Phase = "thinking" | "writing" | "calling" | "tools";

/** One model call of a run, and the steps it asked for: what a run spent its time and tokens on. */
export interface ViewTurn<Step = AnyStep> {
  /** From 1, in its run. */
  readonly turn: number;
  /** The step that runs the sub-agent whose turn this is. */
  readonly parentId?: string | undefined;
  readonly model: string;
  readonly status: Turn["status"];
  /** From 1: more where a model call was tried again. */
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly usage?: Usage | undefined;
  readonly steps: readonly Step[];
}

/** What hook, screens and code read of a thread. Parts and steps that did not change keep their identity. */
export interface ThreadView<Step = AnyStep> {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly status: "idle" | "running" | "waiting" | "ended";
  readonly phase?: Phase | undefined;
  readonly stopping: boolean;
  readonly outcome?: RunOutcome | undefined;
  readonly limit?: LimitName | undefined;
  readonly code?: string | undefined;
  /** The run that is active, else the last one. */
  readonly runId?: string | undefined;
  /** The final answer of the last ended run. */
  readonly text: string;
  readonly messages: readonly ViewMessage<Step>[];
  readonly steps: readonly Step[];
  /** The model calls of that run and of its sub-agents, in order. */
  readonly turns: readonly ViewTurn<Step>[];
  /** Steps that need a person, in order. */
  readonly pending: readonly Step[];
  /** Messages the model has not read yet. */
  readonly queued: readonly ViewMessage<Step>[];
  readonly grants: readonly Grant[];
  readonly usage: Usage;
}

const views = new WeakMap<Thread, ThreadView>();
const endedRuns = new WeakMap<Run, readonly ViewMessage[]>();
const turnParts = new WeakMap<Turn, readonly ViewPart[]>();
const turnRows = new WeakMap<Turn, ViewTurn>();
const stepParts = new WeakMap<AnyStep, ViewPart>();
const userMessages = new WeakMap<Message, ViewMessage>();

/** The only reading of Thread. Pure; cached per thread, ended run, turn and call. */
export function viewThread(thread: Thread): ThreadView {
  const known = views.get(thread);
  if (known) return known;
  const view = build(thread);
  views.set(thread, view);
  return view;
}

function build(thread: Thread): ThreadView {
  const root = rootOf(thread);
  const ended = thread.runs.filter((run) => run.depth === 0);
  const last = root ?? ended.at(-1);
  const messages: ViewMessage[] = [];
  const parents = new Set([...thread.active, ...thread.runs].flatMap((run) => run.parentCallId ?? []));
  let cursor = 0; // messages before it are placed
  for (const run of root ? [...ended, root] : ended) {
    const upTo = run.status === "ended" ? lastSeqOf(run) : Number.POSITIVE_INFINITY;
    const placed = takeWhile(thread.messages, cursor, (message) => message.seq <= Math.min(upTo, thread.consumedSeq));
    messages.push(...viewRun(thread, run, placed, parents));
    cursor += placed.length;
  }
  const queued = thread.messages.slice(cursor).map(viewUserMessage);
  const steps = stepsOf(messages);
  return {
    id: thread.id,
    seq: thread.seq,
    title: thread.title,
    status: statusOf(root, last),
    phase: root && phaseOf(root),
    stopping: Boolean(root?.stop),
    outcome: last?.outcome,
    limit: last?.limit,
    code: last?.code,
    runId: last?.runId,
    text: ended.at(-1)?.text ?? "",
    messages: queued.length > 0 ? [...messages, ...queued] : messages,
    steps,
    turns: last ? viewTurns(thread, last, parents) : [],
    pending: steps.filter((step) => step.ask !== null),
    queued,
    grants: thread.grants,
    usage: last?.usage ?? {},
  };
}

function statusOf(root: Run | undefined, last: Run | undefined): ThreadView["status"] {
  if (root) return root.status === "waiting" ? "waiting" : "running";
  return last ? "ended" : "idle";
}

function phaseOf(run: Run): Phase {
  const turn = run.turn;
  if (!turn || turn.status === "failed") return "thinking";
  if (turn.status === "ended") return turn.calls.length > 0 ? "tools" : "thinking";
  const last = turn.parts.at(-1);
  if (!last || last.type === "reasoning") return "thinking";
  return last.type === "call" ? "calling" : "writing";
}

/** Where its last model call began: messages before it were read. A run that ended before its first one read none. */
function lastSeqOf(run: Run): number {
  return run.turn?.startedSeq ?? 0;
}

function takeWhile<Item>(items: readonly Item[], from: number, test: (item: Item) => boolean): readonly Item[] {
  let end = from;
  for (let item = items[end]; item !== undefined && test(item); item = items[++end]);
  return items.slice(from, end);
}

/** A run as messages: the assistant's, cut where a person steered. */
function viewRun(
  thread: Thread,
  run: Run,
  steering: readonly Message[],
  parents: ReadonlySet<string>,
): readonly ViewMessage[] {
  const known = endedRuns.get(run);
  if (known) return known;
  const messages: ViewMessage[] = [];
  let parts: ViewPart[] = [];
  const close = (): void => {
    if (parts.length === 0) return;
    const id = messages.some((message) => message.id === run.runId) ? `${run.runId}:${messages.length}` : run.runId;
    messages.push({ id, role: "assistant", parts, at: run.startedAt, runId: run.runId });
    parts = [];
  };
  let next = 0;
  for (const turn of turnsOf(run)) {
    for (let message = steering[next]; message && message.seq < turn.startedSeq; message = steering[++next]) {
      close();
      messages.push(viewUserMessage(message));
    }
    parts.push(...viewTurn(thread, turn, parents));
  }
  const notice = noticeOf(run);
  if (notice) parts.push(notice);
  close();
  for (const message of steering.slice(next)) messages.push(viewUserMessage(message));
  if (run.status === "ended") endedRuns.set(run, messages);
  return messages;
}

/** Cached per turn, except where a call runs a sub-agent: its steps change without the turn. */
function viewTurn(thread: Thread, turn: Turn, parents: ReadonlySet<string>): readonly ViewPart[] {
  const nested = parents.size > 0 && turn.calls.some((call) => parents.has(call.callId));
  const known = nested ? undefined : turnParts.get(turn);
  if (known) return known;
  const parts = turn.parts.map((part): ViewPart => {
    if (part.type !== "call") return part;
    return viewStepPart(viewStep(thread, turn.calls[part.index] as Call)); // reduceCall adds both together
  });
  if (!nested) turnParts.set(turn, parts);
  return parts;
}

/** Cached as the parts are. A sub-agent's turns follow the turn that called it. */
function viewTurns(thread: Thread, run: Run, parents: ReadonlySet<string>): readonly ViewTurn[] {
  return turnsOf(run).flatMap((turn) => {
    const nested = turn.calls.some((call) => parents.has(call.callId));
    const known = nested ? undefined : turnRows.get(turn);
    if (known) return known;
    const { model, status, attempt, startedAt, endedAt, usage } = turn;
    const steps = turn.calls.map((call) => viewStep(thread, call));
    const facts = { model, status, attempt, startedAt, endedAt, usage };
    const row: ViewTurn = { turn: turn.turn, parentId: run.parentCallId, ...facts, steps };
    if (!nested) {
      turnRows.set(turn, row);
      return row;
    }
    const children = [...thread.active, ...thread.runs].filter(({ parentCallId }) =>
      turn.calls.some((call) => call.callId === parentCallId),
    );
    return [row, ...children.flatMap((child) => viewTurns(thread, child, parents))];
  });
}

function viewStepPart(step: AnyStep): ViewPart {
  const known = stepParts.get(step);
  if (known) return known;
  const part: ViewPart = { type: "step", step };
  stepParts.set(step, part);
  return part;
}

function noticeOf(run: Run): NoticePart | undefined {
  if (!run.outcome || run.outcome === "completed") return undefined;
  return { type: "notice", outcome: run.outcome, limit: run.limit, code: run.code, by: run.stop?.by };
}

function viewUserMessage(message: Message): ViewMessage {
  const known = userMessages.get(message);
  if (known) return known;
  const { messageId: id, parts, at, by } = message;
  const view: ViewMessage = { id, role: "user", parts, at, by };
  userMessages.set(message, view);
  return view;
}

/** Every step in order, a parent before its children. */
function stepsOf(messages: readonly ViewMessage[]): readonly AnyStep[] {
  const steps: AnyStep[] = [];
  const add = (step: AnyStep): void => {
    steps.push(step);
    for (const child of step.children) add(child);
  };
  for (const message of messages) {
    for (const part of message.parts) if (part.type === "step") add(part.step);
  }
  return steps;
}
