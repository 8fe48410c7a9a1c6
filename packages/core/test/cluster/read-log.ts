import type { ThreadEvent } from "../../src/protocol/event.ts";
import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { StoredEvent, ThreadStore } from "../../src/store/thread-store.ts";

/** A thread's log as the store has it; nothing for a thread that is not there. */
export async function readStored(store: ThreadStore, id: string): Promise<readonly StoredEvent[]> {
  const read = await store.read(id);
  return read === null || "gone" in read ? [] : read.events;
}

export async function readEvents(store: ThreadStore, id: string): Promise<readonly ThreadEvent[]> {
  return (await readStored(store, id)).map(({ seq, data }) => parseEvent(data, seq));
}

/** An attempt of a call. */
interface Attempt {
  readonly threadId: string;
  readonly callId: string;
  readonly attempt: number;
}

/** Whether the log says at this moment that the attempt began. */
export async function startedInLog(store: ThreadStore, { threadId, callId, attempt }: Attempt): Promise<boolean> {
  const events = await readEvents(store, threadId);
  return events.some((event) => event.type === "call-started" && event.callId === callId && event.attempt === attempt);
}
