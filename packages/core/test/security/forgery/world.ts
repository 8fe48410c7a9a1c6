import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { parseEvent } from "../../../src/protocol/stored-event.ts";
import type { Thread } from "../../../src/protocol/thread.ts";
import { emptyThread } from "../../../src/protocol/thread.ts";
import type { Json } from "../../../src/protocol/values.ts";
import { viewThread } from "../../../src/protocol/view-thread.ts";
import type { StoredEvent, ThreadStore } from "../../../src/store/thread-store.ts";
import type { FakeClock } from "../../fake-clock.ts";
import { fakeClock } from "../../fake-clock.ts";
import { fold } from "../../protocol/fold.ts";
import { mortal } from "../../server/mortal.ts";
import type { Subject } from "./app.ts";
import type { Case } from "./cases.ts";
import { CASES } from "./cases.ts";
import type { Honest } from "./honest.ts";
import { honestRequests, toRequest } from "./honest.ts";
import { OWNERS } from "./people.ts";
import type { Server } from "./server.ts";
import { makeAgents, serve } from "./server.ts";
import type { Conversation, Shown } from "./shown.ts";

export interface World {
  /** When the attacks begin. */
  readonly now: number;
  readonly conversations: readonly Conversation[];
  /** What the people of this world sent, and what they would send next. */
  readonly honest: readonly Honest[];
  readonly past: readonly Honest[];
  /** Salts and hashes in the logs. */
  readonly serverOnly: readonly string[];
}

/** Plays both tenants' conversations on a real server, and keeps their logs. */
export async function recordWorld(subject: Subject): Promise<World> {
  const clock = fakeClock();
  const store = subject.memoryStore({ clock });
  const agents = makeAgents(
    subject,
    () => undefined,
    ({ tool }) => tool === "charge",
  );
  const server = serve(subject, agents, clock, store);
  const doomed = mortal(clock, store);
  const failing = serve(subject, agents, doomed.clock, doomed.store);
  const past: Honest[] = [];
  const begun: Pick<Conversation, "id" | "owner" | "name" | "runId">[] = [];
  const begin = async (isLate: boolean): Promise<void> => {
    for (const owner of OWNERS) {
      for (const [name, each] of Object.entries(CASES)) {
        if (isLate !== (each.late === true)) continue;
        const person = personAt(each.since === "interrupt" ? failing : server, clock, owner, past);
        const { threadId, runId } = await person.post("", { message: { text: `case ${name}` } });
        await person.post(`/${threadId}/title`, { title: `secret title of ${threadId}` });
        await settle(each, person, `/${threadId}`, String(runId), shownIn(await threadOf(store, String(threadId))));
        begun.push({ id: String(threadId), owner, name, runId: String(runId) });
      }
    }
  };
  await begin(false);
  doomed.kill();
  await clock.advance(60_000);
  await server.sweep();
  await clock.advance(600_000);
  await begin(true);
  const conversations = await Promise.all(begun.map((each) => conversationOf(store, each)));
  const text = conversations.flatMap(({ stored }) => stored.map(({ data }) => data)).join("\n");
  const serverOnly = Array.from(text.matchAll(/"(?:salt|toolHash)":"([^"]+)"/g), ([, value]) => value ?? "");
  return {
    now: clock.now(),
    conversations,
    past,
    honest: [...past, ...honestRequests(conversations)],
    serverOnly: [...new Set(serverOnly)],
  };
}

interface Sender {
  post(path: string, body: { readonly [name: string]: Json }): Promise<{ readonly [name: string]: Json }>;
}

/** Sends as a browser does, and keeps what was sent. */
function personAt(server: Server, clock: FakeClock, user: string, past: Honest[]): Sender {
  return {
    async post(path, body) {
      const honest: Honest = { method: "POST", path, user, body: { ...body, key: `key-${past.length}-of-${user}` } };
      const response = await server.handle(toRequest(honest));
      if (response.status >= 300) throw new Error(`${path}: ${await response.text()}`);
      past.push(honest);
      await clock.advance(0);
      return response.json();
    },
  };
}

/** What people did about it before the attacks. */
async function settle(
  { since }: Case,
  person: Sender,
  path: string,
  runId: string,
  [first]: readonly Shown[],
): Promise<void> {
  if (since === "stop") await person.post(`${path}/stop`, { runId });
  if (!first || since === undefined || since === "wait" || since === "stop") return;
  const { callId, digest } = first;
  const scope = since === "remember" ? { scope: "thread" } : {};
  const action = since === "deny" ? "deny" : "approve";
  await person.post(`${path}/decisions`, { decisions: [{ callId, digest, action, ...scope }] });
}

async function threadOf(store: ThreadStore, id: string): Promise<Thread> {
  return fold(parsed(await storedOf(store, id)), emptyThread(id));
}

async function storedOf(store: ThreadStore, id: string): Promise<readonly StoredEvent[]> {
  const read = await store.read(id);
  if (!read || "gone" in read) throw new Error(`${id} is not there`);
  return read.events;
}

function parsed(stored: readonly StoredEvent[]): readonly ThreadEvent[] {
  return stored.map(({ seq, data }) => parseEvent(data, seq));
}

/** What waits for somebody, as the screen shows it. */
function shownIn(thread: Thread): readonly Shown[] {
  return viewThread(thread).pending.flatMap(({ id, threadId, tool, digest, input, ask }) => {
    if (!ask) return [];
    const { kind, editable = false, scopes = ["once"], expiresAt = Number.POSITIVE_INFINITY, extendMs } = ask;
    return [{ threadId, callId: id, tool, kind, digest, input, editable, scopes, expiresAt, extendMs }];
  });
}

async function conversationOf(
  store: ThreadStore,
  begun: Pick<Conversation, "id" | "owner" | "name" | "runId">,
): Promise<Conversation> {
  const thread = await threadOf(store, begun.id);
  if (thread.driverId !== null) throw new Error(`${begun.name} is not at rest`);
  const { rows } = await store.list(begun.owner, undefined, { limit: 1_000 });
  const row = rows.find(({ id }) => id === begun.id);
  if (!row) throw new Error(`${begun.id} is not in the list`);
  const stored = await storedOf(store, begun.id);
  const grantIds = thread.grants.map(({ grantId }) => grantId);
  return { ...begun, grantIds, stored, events: parsed(stored), row, shown: shownIn(thread) };
}

/** The world again, in a store of its own. */
export async function restore({ conversations }: World, store: ThreadStore): Promise<void> {
  for (const { id, stored, row } of conversations) {
    await store.append(id, { at: 0 }, { batch: `past of ${id}`, events: stored, row });
  }
}
