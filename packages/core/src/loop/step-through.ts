import type { Agent } from "../agent/agent.ts";
import { ToolRunError } from "../errors.ts";
import type { ModelMessage } from "../model/model.ts";
import { promptOf } from "../model/prompt.ts";
import type { ThreadEvent } from "../protocol/event.ts";
import type { AnyStep } from "../protocol/step.ts";
import type { Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import type { Json, Usage } from "../protocol/values.ts";
import { copyMessage, createPromptEdits, withEdits } from "./prompt-edits.ts";
import type { RunResult } from "./run-result.ts";
import { runOf, turnRecord } from "./run-result.ts";
import type { RunInput, RunOptions } from "./run-session.ts";
import { createRunSession, partsOf } from "./run-session.ts";

/** A turn whose calls are over, before the model is asked again. It takes one answer: continue, inject or stop. */
export interface Yielded {
  readonly type: "yielded";
  /** 1-based number of the turn that is over. */
  readonly turn: number;
  /** What the model said beside its calls. */
  readonly text: string;
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly args: Json }[];
  /** One for each call, in their order. */
  readonly results: readonly {
    readonly callId: string;
    readonly name: string;
    readonly output: Json;
    readonly isError: boolean;
  }[];
  /** Of the run so far. */
  readonly usage: Usage;
  /** What came into the log since the turn before was yielded. */
  readonly events: readonly ThreadEvent[];
  /**
   * The history, without the agent's instructions. What is changed in it goes to the model from the next request on;
   * a system message at its beginning takes the place of the instructions. It is read when the turn is answered.
   */
  readonly messages: ModelMessage[];
  /**
   * Goes on.
   * @throws `invalid-config` for edited messages that no model would take; `bad-request` for a second answer.
   */
  continue(): void;
  /** Goes on with messages of the person behind the results. @throws as `continue`, and `bad-request` for an empty one. */
  inject(messages: RunInput | readonly RunInput[]): void;
  /** Ends the run here, as done by a stop condition. The model is not asked again. */
  stop(reason?: string): void;
}

/** The run waits for a person, who cannot decide here: an end, like the two below. */
export interface Waiting {
  readonly type: "waiting";
  readonly pending: readonly AnyStep[];
  readonly result: RunResult;
}
export interface Completed {
  readonly type: "completed";
  readonly result: RunResult;
}
export interface Failed {
  readonly type: "failed";
  readonly error: ToolRunError;
  readonly result: RunResult;
}

/** A run that its caller drives turn by turn. Between turns nothing runs and no time counts. */
export interface StepThrough {
  /**
   * Runs up to the end of the next turn, or to the end of the run; after that always the same end again.
   * @throws `bad-request` while a turn is not answered, or while another `next` is under way.
   */
  next(): Promise<Yielded | Waiting | Completed | Failed>;
  /** Runs to the end without stopping between turns. */
  finish(): Promise<RunResult>;
}

/** The loop for those who want to look, steer or stop between turns. */
export function stepThrough(agent: Agent, input: RunInput, options: RunOptions = {}): StepThrough {
  const edits = createPromptEdits();
  const edited = withEdits(agent, edits, () => session.modelCall());
  const session = createRunSession(edited, input, options, edits.apply);
  const { host } = session;
  let begun = 1; // turns that may begin
  let end: Waiting | Completed | Failed | undefined;
  let open: Yielded | undefined;
  let isUnderWay = false;
  let told = 0;

  const holdsBefore = (event: ThreadEvent, thread: Thread): boolean =>
    event.type === "turn-started" && event.turn > begun && event.runId === rootOf(thread)?.runId;

  const yielded = (): Yielded => {
    const { thread } = host;
    const run = runOf(thread);
    if (!run.turn) throw new Error("A run is held behind a turn.");
    const { turn, text, calls } = turnRecord(run.turn);
    begun = turn + 1;
    const history = promptOf(thread, run, undefined);
    const events = host.events.slice(told);
    told = host.events.length;
    let messages: ModelMessage[] | undefined;
    /** False for an answer that comes after the end and is ignored. */
    const take = (): boolean => {
      if (end) return false;
      if (open !== made) throw new ToolRunError("bad-request", `Turn ${turn} has its answer already.`);
      return true;
    };
    const goOn = (): void => {
      if (messages) edits.replace(history, messages);
      open = undefined;
    };
    const made: Yielded = {
      type: "yielded",
      turn,
      text,
      calls: calls.map(({ callId, name, args }) => ({ callId, name, args })),
      results: calls.map(({ callId, name, output = null, isError }) => ({ callId, name, output, isError })),
      usage: run.usage,
      events,
      get messages() {
        messages ??= edits.apply(history).map(copyMessage);
        return messages;
      },
      continue() {
        if (take()) goOn();
      },
      inject(given) {
        const inputs = Array.isArray(given) ? (given as readonly RunInput[]) : [given as RunInput]; // not a list
        const added = inputs.map(partsOf);
        if (!take()) return;
        goOn();
        for (const parts of added) host.say(parts);
      },
      stop(reason) {
        if (!take()) return;
        open = undefined;
        const { runId, usage } = run;
        host.write({ type: "run-ended", runId, outcome: "completed", code: "stop-when", reason, text, usage });
      },
    };
    return made;
  };

  const next: StepThrough["next"] = async () => {
    if (end) return end;
    if (isUnderWay) throw new ToolRunError("bad-request", "A turn is under way: await it before the next.");
    if (open && !options.signal?.aborted) {
      const message = `Turn ${open.turn} waits for an answer: call continue(), inject(messages) or stop() on it.`;
      throw new ToolRunError("bad-request", message);
    }
    isUnderWay = true;
    try {
      if ((await session.drive(holdsBefore)) === "held") {
        open = yielded();
        return open;
      }
      session.close();
      const result = session.result();
      if (result.status === "error") end = { type: "failed", error: session.failure(), result };
      else if (result.pending) end = { type: "waiting", pending: result.pending, result };
      else end = { type: "completed", result };
      return end;
    } finally {
      isUnderWay = false;
    }
  };

  return {
    next,
    async finish() {
      for (;;) {
        open?.continue();
        const step = await next();
        if (step.type !== "yielded") return step.result;
      }
    },
  };
}
