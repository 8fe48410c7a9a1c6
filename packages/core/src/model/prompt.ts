import { canonicalJson } from "../protocol/digest.ts";
import { findCall } from "../protocol/read-thread.ts";
import type { Call, Message, Run, Thread, Turn } from "../protocol/thread.ts";
import { turnsOf } from "../protocol/thread.ts";
import type { RunOutcome } from "../protocol/values.ts";
import { argumentsOf, isDeniedByPerson, resultOf } from "./call-result.ts";
import { checkPairing } from "./check-pairing.ts";
import type { AssistantPart, ModelMessage } from "./model.ts";
import { wireToolName } from "./tool-name.ts";

/**
 * How every text begins that the app says to the model. It goes out in the user's role, the only one that every
 * provider takes in the middle of a conversation.
 */
export const NOTE_PREFIX: string = "[Note from the app, not from the person] ";

/** How a note begins that stands between two runs. */
export const RUN_BOUNDARY: string = `${NOTE_PREFIX}The work before this ended early: `;

/** What the model reads last after a person denied a call. It holds no arguments: they would invite a repeat. */
const DENIED_NOTE = noteMessage(
  "The person denied a call you just made. Do not make the same call again. Go on without it, take another way, or ask the person what they want instead.",
);
const CONTINUE_NOTE = noteMessage("The person asked you to go on where the work ended.");

/**
 * The history for one model call of a run, provider-neutral: people's messages in their place, ended runs, this
 * run's turns. A child run sees only itself. Every call has exactly one result, contiguous and in call order;
 * calls of turns that never ended do not exist. Each settled turn is built once, so a request costs one pointer
 * per earlier message.
 * @throws `internal` when calls and results do not pair.
 */
export function promptOf(thread: Thread, run: Run, instructions: string | undefined): ModelMessage[] {
  const history = historyOf(thread, run);
  const messages = instructions ? [systemMessage(instructions), ...history.messages] : [...history.messages];
  const { turn } = run;
  let { placed } = history;
  const addMessages = (before: number): void => {
    placed = eachMessage(thread, placed, before, (message) => messages.push(message));
  };
  if (turn && turn.status !== "ended") {
    // What the asking run's own turn has written so far will be written again.
    addMessages(turn.startedSeq);
    const note = noteOf(turn);
    if (note) messages.push(note);
  }
  if (turn?.status !== "open") addMessages(thread.seq + 1);
  const before = turn?.status === "open" ? run.turns.at(-1) : turn;
  if (before?.calls.some(isDeniedByPerson)) messages.push(DENIED_NOTE);
  return messages;
}

/** What does not change any more of what a run's model reads: up to the run's last ended turn. */
interface History {
  readonly messages: ModelMessage[];
  /** Ids of calls used so far: some servers number the calls of each answer from zero. */
  readonly ids: Set<string>;
  /** How many of the thread's messages are in it; a child run sees none. */
  placed: number;
}

/** By the turn they end with. A history moves on to the next turn, so that a request costs its last turn only. */
const histories = new WeakMap<Turn, History>();

function historyOf(thread: Thread, run: Run): History {
  const ended = run.turn?.status === "ended" ? turnsOf(run) : run.turns;
  const [before, last] = [ended.at(-2), ended.at(-1)];
  const known = last && histories.get(last);
  if (known) return known;
  const begun = before && histories.get(before);
  if (begun) histories.delete(before);
  const history = begun ?? beginning(thread, run);
  const checked = begun ? begun.messages.length : 0;
  for (const turn of begun ? ended.slice(-1) : ended) addTurn(history, thread, turn);
  checkPairing(history.messages, checked);
  if (last) histories.set(last, history);
  return history;
}

/** What comes before a run's first turn. */
function beginning(thread: Thread, run: Run): History {
  if (run.depth > 0) {
    return { messages: [taskOf(thread, run)], ids: new Set(), placed: Number.POSITIVE_INFINITY };
  }
  const history: History = { messages: [], ids: new Set(), placed: 0 };
  for (const earlier of thread.runs) {
    if (earlier.depth > 0 || earlier === run) continue;
    for (const turn of turnsOf(earlier)) addTurn(history, thread, turn);
    const boundary = boundaryOf(earlier);
    if (boundary) history.messages.push(boundary);
  }
  if (run.trigger === "continue") history.messages.push(CONTINUE_NOTE);
  return history;
}

/** People's messages from the `placed`th on that came before a seq; returns how many are placed then. */
function eachMessage(thread: Thread, placed: number, before: number, add: (message: ModelMessage) => void): number {
  let next = placed;
  for (let message = thread.messages[next]; message && message.seq < before; message = thread.messages[++next]) {
    add(userMessage(message));
  }
  return next;
}

function addTurn(history: History, thread: Thread, turn: Turn): void {
  history.placed = eachMessage(thread, history.placed, turn.startedSeq, (message) => history.messages.push(message));
  const note = noteOf(turn);
  if (note) history.messages.push(note);
  const given = turnMessages(turn, "provider");
  const usable = given.unique && !given.ids.some((id) => history.ids.has(id));
  const { messages, ids } = usable ? given : turnMessages(turn, "own");
  for (const id of ids) history.ids.add(id);
  for (const message of messages) history.messages.push(message);
}

interface TurnMessages {
  readonly messages: readonly ModelMessage[];
  readonly ids: readonly string[];
  /** No two of `ids` are equal. */
  readonly unique: boolean;
}

const built = { provider: new WeakMap<Turn, TurnMessages>(), own: new WeakMap<Turn, TurnMessages>() };

/** A turn as an assistant's message and the results of its calls. `own` ids are ours: always unique. */
function turnMessages(turn: Turn, ids: "provider" | "own"): TurnMessages {
  const known = built[ids].get(turn);
  if (known) return known;
  const idOf = (call: Call): string => (ids === "provider" && call.providerId) || call.callId;
  const calls = turn.calls.filter(isReal);
  const parts = turn.parts.flatMap((part): AssistantPart[] => {
    if (part.type === "text") return part.text === "" ? [] : [part];
    const call = part.type === "call" ? turn.calls[part.index] : undefined;
    if (!call || !isReal(call)) return [];
    return [
      {
        type: "call",
        id: idOf(call),
        name: wireToolName(call.tool),
        inputText: argumentsOf(call),
        opaque: call.opaque,
      },
    ];
  });
  const messages: ModelMessage[] = [];
  if (parts.length > 0) messages.push({ role: "assistant", parts, opaque: turn.opaque });
  if (calls.length > 0) {
    const results = calls.map((call) => ({ id: idOf(call), name: wireToolName(call.tool), ...resultOf(call) }));
    messages.push({ role: "tool", results });
  }
  const used = calls.map(idOf);
  const value = { messages, ids: used, unique: new Set(used).size === used.length };
  built[ids].set(turn, value);
  return value;
}

/** A call that was only half written when its turn ended is no call. */
function isReal(call: Call): boolean {
  return call.status !== "writing";
}

const systemMessages = new Map<string, ModelMessage>();

/** One object per text, so that whoever translates it for a provider does so once; instructions of tenants vary. */
function systemMessage(text: string): ModelMessage {
  const known = systemMessages.get(text);
  if (known) return known;
  if (systemMessages.size >= 100) systemMessages.clear();
  const message: ModelMessage = { role: "system", text };
  systemMessages.set(text, message);
  return message;
}

const userMessages = new WeakMap<Message, ModelMessage>();

function userMessage(message: Message): ModelMessage {
  const known = userMessages.get(message);
  if (known) return known;
  const made: ModelMessage = { role: "user", parts: message.parts };
  userMessages.set(message, made);
  return made;
}

const notes = new WeakMap<Turn | Run, ModelMessage>();

function noteOf(turn: Turn): ModelMessage | undefined {
  return turn.note ? remembered(turn, noteMessage(turn.note)) : undefined;
}

const ENDED_EARLY: Readonly<Record<Exclude<RunOutcome, "completed">, string>> = {
  stopped: "the person stopped it.",
  failed: "something went wrong.",
  limited: "it reached a limit.",
};

/** Tells the model, in later runs, why the work before them breaks off. */
function boundaryOf(run: Run): ModelMessage | undefined {
  if (run.outcome === undefined || run.outcome === "completed") return undefined;
  return remembered(run, textMessage(RUN_BOUNDARY + ENDED_EARLY[run.outcome]));
}

function remembered(owner: Turn | Run, message: ModelMessage): ModelMessage {
  const known = notes.get(owner) ?? message;
  notes.set(owner, known);
  return known;
}

/** What a run was asked for last: the person's words, or the task of a sub-agent. */
export function questionOf(thread: Thread, run: Run): string {
  const message = run.depth > 0 ? taskOf(thread, run) : thread.messages.at(-1);
  const parts = message && "parts" in message ? message.parts : [];
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** What a sub-agent was asked to do: the `prompt` of the call that started it. */
function taskOf(thread: Thread, run: Run): ModelMessage {
  const input = run.parentCallId === undefined ? null : (findCall(thread, run.parentCallId)?.call.input ?? null);
  const prompt = typeof input === "object" && input !== null && "prompt" in input ? input.prompt : undefined;
  return textMessage(typeof prompt === "string" ? prompt : canonicalJson(input));
}

function noteMessage(text: string): ModelMessage {
  return textMessage(NOTE_PREFIX + text);
}

function textMessage(text: string): ModelMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}
