import type { Append } from "../store/thread-store.ts";
import type { PostgresConnection } from "./postgres-client.ts";
import type { Hub, OpenHub, ThreadEnd } from "./postgres-hub.ts";
import { FIRST_POLL_MS, openHub } from "./postgres-hub.ts";
import { createListener, PROBE_MS } from "./postgres-listener.ts";
import type { PostgresNames } from "./postgres-schema.ts";
import type { PostgresStatements } from "./postgres-sql.ts";
import { decodeText, EVENT, encodeText, FIELD, RECORD } from "./postgres-text.ts";
import { after } from "./timer.ts";

export interface Hubs {
  join(id: string): Hub;
  /** This process appended: its followers need not read it, those of other processes are notified. */
  appended(id: string, first: number, append: Append): void;
  removed(id: string): void;
}

const LAST_POLL_MS = 1000;
const THREADS_PER_POLL = 1000;
const NOTIFICATIONS_PER_STATEMENT = 100;
const LONGEST_PAYLOAD = 1000;

/**
 * How followers learn that there is something to read: from an append of this process at once, from another
 * process by a notification, and from a look at the heads of all followed threads, one statement for all. The
 * look comes every 5 s while notifications arrive, else every 150 ms to 1 s; a thread whose change was seen by
 * looking only is looked at often again, whoever wrote it may have no way to notify.
 *
 * `pg_notify` is a statement of its own behind the append, never a part of it: a transaction that notifies holds a
 * lock of the whole server until it is on disk, and appends would wait for each other's disk writes (measured
 * here: 300 appends a second instead of 1,500). Lost with the process, a notification is made good by the look.
 */
export function createHubs(connection: PostgresConnection, names: PostgresNames, statements: PostgresStatements): Hubs {
  const hubs = new Map<string, OpenHub>();
  let armedFor = Number.POSITIVE_INFINITY;
  const say = (payload: string): Promise<unknown> => connection.run(statements.notify, [names.channel, payload]);
  const listener = createListener(connection, names.channel, say, {
    onHeard: (payload) => {
      const space = payload.indexOf(" ");
      const hub = hubs.get(decodeText(payload.slice(space + 1)));
      const end = toEnd(payload.slice(0, space));
      if (!hub || end === undefined) return;
      hub.pollMs = PROBE_MS;
      // An older one that comes late is no news.
      if (end === "removed" || hub.end === undefined || hub.end === "removed" || end > hub.end) hub.saw(end);
    },
    onReady: () => {
      for (const hub of hubs.values()) hub.wake();
    },
  });
  const send = createSender(connection.listen ? say : undefined);

  const arm = (due: number): void => {
    if (due >= armedFor) return;
    armedFor = due;
    after(due - performance.now(), () => {
      if (armedFor !== due) return; // an earlier one was armed meanwhile
      armedFor = Number.POSITIVE_INFINITY;
      void look();
    });
  };
  const look = async (): Promise<void> => {
    if (hubs.size === 0) return;
    const now = performance.now();
    const due = [...hubs].filter(([, hub]) => hub.dueAt <= now).slice(0, THREADS_PER_POLL);
    for (const [, hub] of due) {
      hub.lookedAt = now;
      hub.dueAt = Number.POSITIVE_INFINITY; // not again before this one is answered
    }
    listener.probe();
    if (due.length > 0) {
      const ends = await readEnds(due.map(([id]) => id)).catch(() => undefined);
      for (const [id, hub] of due) judge(hub, ends && { end: ends.get(id) });
    }
    let next = Number.POSITIVE_INFINITY;
    for (const hub of hubs.values()) next = Math.min(next, hub.dueAt);
    arm(next);
  };
  /** On a connection that broke without a word, or in a request that its platform ended, a look stays unanswered. */
  const nudge = (): void => {
    const now = performance.now();
    const stalled = [...hubs.values()].filter((hub) => hub.lookedAt < now - PROBE_MS * 2);
    for (const hub of stalled) hub.dueAt = now;
    if (stalled.length > 0) void look();
  };
  const judge = (hub: OpenHub, looked: { readonly end: ThreadEnd | undefined } | undefined): void => {
    const isNews = looked !== undefined && hub.end !== looked.end;
    hub.pollMs = isNews ? FIRST_POLL_MS : Math.min(hub.pollMs * 1.5, listener.hears ? PROBE_MS : LAST_POLL_MS);
    hub.dueAt = performance.now() + hub.pollMs;
    if (isNews) hub.saw(looked.end);
  };
  const readEnds = async (ids: readonly string[]): Promise<Map<string, ThreadEnd | undefined>> => {
    const list = ids.map((id) => encodeText(id) + EVENT).join("");
    const answer = await connection.run(statements.heads, [list]);
    const records = answer === null ? [] : answer.split(RECORD).map((record) => record.split(FIELD));
    return new Map(records.map(([id = "", end = ""]) => [decodeText(id), toEnd(end)]));
  };

  return {
    join(id) {
      let hub = hubs.get(id);
      if (!hub) {
        const close = (): void => {
          hubs.delete(id);
          if (hubs.size === 0) listener.stop();
        };
        hub = openHub(close, nudge);
        hubs.set(id, hub);
        if (hubs.size === 1) listener.start();
      }
      hub.followers++;
      hub.pollMs = FIRST_POLL_MS;
      hub.dueAt = Math.min(hub.dueAt, performance.now() + FIRST_POLL_MS);
      arm(hub.dueAt);
      return hub;
    },
    appended(id, first, { batch, events }) {
      const head = first + events.length - 1;
      const hub = hubs.get(id);
      hub?.keep(events.map(({ control, data }, index) => ({ seq: first + index, batch, control, data })));
      hub?.saw(head);
      send(id, head);
    },
    removed(id) {
      hubs.get(id)?.saw("removed");
      send(id, "removed");
    },
  };
}

/** Notifies other processes: one statement at a time, what comes meanwhile goes with the next. */
function createSender(say: ((payload: string) => Promise<unknown>) | undefined): (id: string, end: ThreadEnd) => void {
  const waiting = new Map<string, ThreadEnd>();
  let isSending = false;
  const flush = async (): Promise<void> => {
    isSending = true;
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, NOTIFICATIONS_PER_STATEMENT);
      for (const [id] of batch) waiting.delete(id);
      await say?.(batch.map(([id, end]) => `${end} ${encodeText(id)}`).join(EVENT)).catch(() => {}); // only a hint
    }
    isSending = false;
  };
  return (id, end) => {
    if (!say || id.length > LONGEST_PAYLOAD) return;
    waiting.set(id, end);
    if (!isSending) void flush();
  };
}

function toEnd(text: string): ThreadEnd | undefined {
  if (text === "removed") return "removed";
  return text === "" ? undefined : Number(text);
}
