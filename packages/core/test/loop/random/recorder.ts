import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { reduceThread } from "../../../src/protocol/reduce-thread.ts";
import { parseEvent } from "../../../src/protocol/stored-event.ts";
import type { Thread } from "../../../src/protocol/thread.ts";
import { emptyThread } from "../../../src/protocol/thread.ts";
import type { Append } from "../../../src/store/thread-store.ts";
import type { Answer, Write } from "./person.ts";
import type { Execution, ModelCall } from "./place.ts";

/** Everything that is seen of a run while it goes on. */
export interface Recorder {
  readonly stored: { readonly seq: number; readonly data: string }[];
  readonly events: ThreadEvent[];
  /** The log folded so far. */
  readonly thread: Thread;
  readonly requests: ModelCall[];
  readonly executions: Execution[];
  readonly answers: Answer[];
  /** Errors the server reported. */
  readonly reports: unknown[];
  readonly rejections: unknown[];
  /** Where in the log servers died. */
  readonly crashes: number[];
  /** Writes that were sent and not answered yet. */
  readonly open: Set<Pick<Write, "key" | "act">>;
  onAppended(append: Append, first: number): void;
}

export function createRecorder(threadId: string): Recorder {
  let thread = emptyThread(threadId);
  const recorder: Recorder = {
    ...{ stored: [], events: [], requests: [], executions: [], answers: [], reports: [], rejections: [], crashes: [] },
    open: new Set(),
    get thread() {
      return thread;
    },
    onAppended(append, first) {
      for (const [index, { data }] of append.events.entries()) {
        const event = parseEvent(data, first + index);
        recorder.stored.push({ seq: event.seq, data });
        recorder.events.push(event);
        thread = reduceThread(thread, event);
      }
    },
  };
  return recorder;
}
