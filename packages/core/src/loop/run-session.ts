import type { Agent } from "../agent/agent.ts";
import type { ToolRunErrorCode } from "../errors.ts";
import { ToolRunError } from "../errors.ts";
import type { ModelMessage } from "../model/model.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import type { Thread } from "../protocol/thread.ts";
import type { User, View } from "../protocol/typed.ts";
import type { MessagePart } from "../protocol/values.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { TurnRecord } from "./call-record.ts";
import type { Clock } from "./clock.ts";
import { newId, systemClock } from "./clock.ts";
import type { MemoryHost } from "./memory-host.ts";
import { createMemoryHost } from "./memory-host.ts";
import type { CallModel } from "./model-call.ts";
import { createObserver } from "./observe.ts";
import type { Observers } from "./observers.ts";
import type { RunResult } from "./run-result.ts";
import { resultOfRun, runOf, toolTurns, transcriptOf } from "./run-result.ts";

/** What the person says: a text, or a text with files. */
export type RunInput =
  | string
  | {
      readonly text: string;
      readonly files?: readonly Omit<Extract<MessagePart, { type: "file" }>, "type">[] | undefined;
    };

/** How a run in this process is started, stopped and watched. Whatever watches it can neither break nor slow it. */
export interface RunOptions extends Pick<Observers, "onStep" | "onMetric" | "onAction"> {
  /** Whom the run acts for: policies and tools see it. @defaultValue `{ id: "local" }` */
  readonly user?: User | undefined;
  /** Stops the run; its result is `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Sees every event and the thread after it. */
  readonly onEvent?: ((event: ThreadEvent, thread: View) => void) | undefined;
  /**
   * Gets the text of the run's answers as it streams. Returning false, or throwing, stops the run before anything
   * that would have followed. Text of an attempt that fails later is part of it.
   */
  readonly onText?: ((text: string) => unknown) | undefined;
  /** Gets the turns that used tools, once, right before the run ends or waits. Not called where there are none. */
  readonly onTurns?: ((turns: readonly TurnRecord[]) => void) | undefined;
  /** Gets every error of tools, rules, model attempts and of what watches. @defaultValue console.error */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Time, for tests. */
  readonly clock?: Clock | undefined;
  /** Unique ids, for tests. */
  readonly newId?: (() => string) | undefined;
}

/** A run in memory with its watchers: what runAgent and stepThrough share. */
export interface RunSession {
  readonly host: MemoryHost;
  /** Drives the run while the caller's signal can stop it. */
  drive(holdsBefore?: Parameters<MemoryHost["drive"]>[0]): ReturnType<MemoryHost["drive"]>;
  /** Tells watchers that nothing follows. */
  close(): void;
  result(): RunResult;
  /** The model call that is under way, for who prepares its request; nothing can be reported or stopped with it. */
  modelCall(): Omit<CallModel, "agent" | "plan" | "prompt">;
  /** A run that failed, as an error. */
  failure(): ToolRunError;
}

export function createRunSession(
  agent: Agent,
  input: RunInput,
  options: RunOptions,
  editPrompt: (messages: readonly ModelMessage[]) => readonly ModelMessage[] = (messages) => messages,
): RunSession {
  const { user = { id: "local" } as User, signal, onText, onTurns, onEvent, clock = systemClock() } = options; // apps with an own user type hand one in
  const createId = options.newId ?? newId;
  let lastError: unknown;
  const report = reporter(options.onError);
  const onError = (error: unknown): void => {
    lastError = error;
    report(error);
  };
  const { onStep, onMetric, onAction } = options;
  const observer = createObserver({ onStep, onMetric, onAction, onError: report });

  const onFacts = (facts: readonly ThreadEvent[]): void => {
    for (const event of facts) {
      if (event.type !== "text-added" || event.kind !== undefined) continue;
      const run = runOf(host.thread);
      if (event.runId !== run.runId || run.stop) continue;
      hear(event.text);
    }
  };
  const hear = (text: string): void => {
    const stop = (error?: unknown): void => {
      if (error !== undefined) report(error);
      host.stop("onText stopped it.");
    };
    try {
      const said = onText?.(text);
      if (said === false) stop();
      else if (said instanceof Promise) said.then((value) => value === false && stop(), stop);
    } catch (error) {
      stop(error);
    }
  };

  const onBatch = (events: readonly ThreadEvent[], thread: Thread): void => {
    for (const event of events) {
      if (onTurns && endsRun(event, thread)) {
        const turns = toolTurns(runOf(thread));
        if (turns.length > 0) guarded(() => onTurns(turns), report);
      }
      if (onEvent) guarded(() => onEvent(event, viewThread(thread) as View), report); // the registered agent's thread
      observer.see(event);
    }
  };

  const host = createMemoryHost({
    agent,
    user,
    parts: partsOf(input),
    clock,
    newId: createId,
    onFacts: onText && onFacts,
    onBatch,
    onError,
  });

  return {
    host,
    async drive(holdsBefore) {
      host.begin();
      const stop = (): void => host.stop(wordsOf(signal?.reason));
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop);
      try {
        return await host.drive(holdsBefore);
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
    close: () => observer.close(),
    result() {
      const { thread } = host;
      const messages = editPrompt(transcriptOf(thread, runOf(thread), instructionsOf(agent, user)));
      return resultOfRun(thread, runOf(thread).turn?.model ?? agent.models[0]?.id ?? "", messages);
    },
    modelCall() {
      const { runId, turn } = runOf(host.thread);
      const { turn: number = 0, attempt = 0, toolsOff = false } = turn ?? {};
      const stop = { reason: undefined, listener: undefined };
      const ports = { clock, newId: createId, emit: () => undefined, stop, onError };
      return { user, threadId: host.thread.id, runId, turn: number, attempt, toolsOff, ...ports };
    },
    failure() {
      const { code = "internal", turn } = runOf(host.thread);
      const known = FAILURES.find((each) => each === code);
      const message = (known && turn?.error?.message) ?? `The run failed (${code}).`;
      return new ToolRunError(known ?? "internal", message, { cause: lastError });
    },
  };
}

const FAILURES: readonly ToolRunErrorCode[] = ["model-failed", "model-timed-out", "model-truncated", "tools-failed"];

/** A message's parts. @throws `bad-request` for one that says nothing. */
export function partsOf(input: RunInput): readonly MessagePart[] {
  const { text, files = [] } = typeof input === "string" ? { text: input } : input;
  if (typeof text !== "string" || (text === "" && files.length === 0)) {
    throw new ToolRunError("bad-request", "A message needs a text or a file.");
  }
  const given = files.map((file): MessagePart => ({ type: "file", ...file }));
  return text === "" ? given : [{ type: "text", text }, ...given];
}

/** True for the last event of a run that was started here. */
function endsRun({ type, runId }: ThreadEvent, thread: Thread): boolean {
  return (type === "run-ended" || type === "run-waiting") && runId === runOf(thread).runId;
}

function instructionsOf({ instructions }: Agent, user: User): string | undefined {
  try {
    return typeof instructions === "function" ? instructions({ user }) : instructions;
  } catch {
    return undefined; // the run failed for it, and said so
  }
}

function wordsOf(reason: unknown): string | undefined {
  if (typeof reason === "string") return reason;
  return reason instanceof Error ? reason.message : undefined;
}

function reporter(onError: ((error: unknown) => void) | undefined): (error: unknown) => void {
  return (error) => {
    if (onError)
      guarded(
        () => onError(error),
        () => undefined,
      );
    else console.error("[toolrun]", error);
  };
}

/** Calls what belongs to the app: neither its error nor its promise's gets any further. */
export function guarded(call: () => unknown, onError: (error: unknown) => void): void {
  try {
    const returned = call();
    if (returned instanceof Promise) returned.catch(onError);
  } catch (error) {
    onError(error);
  }
}
