import { parseEvent } from "../../src/protocol/stored-event.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { AgentCache } from "./agent-cache.ts";
import type { Subject } from "./agents.ts";
import { checkExecution, checkPosterConflict } from "./effect-checker.ts";
import type { AppliedAppend, PendingCall, StoreWatcher } from "./faulty-store.ts";
import { faultyStore } from "./faulty-store.ts";
import { hashText } from "./hash-text.ts";
import type { LogChecker } from "./log-checker.ts";
import { createLogChecker } from "./log-checker.ts";
import type { Answer, Request } from "./person.ts";
import { perform, pressed, threadIdOf } from "./person.ts";
import type { Post, Scenario } from "./scenario.ts";
import type { Execution, ServerProcess } from "./server-process.ts";
import { createServerProcess } from "./server-process.ts";
import type { Violation } from "./violation.ts";
import type { WorldTime } from "./virtual-clock.ts";
import { createVirtualClock } from "./virtual-clock.ts";

export const LEASE_MS = 30_000;
const START = 1_000_000;

/** One person at one browser. */
export interface Person {
  readonly name: string;
  readonly posts: readonly Post[];
  at: number;
  tries: number;
  request: Request | undefined;
  /** The server the write is at now. */
  busyOn: string | undefined;
  /** Bumped when a connection dies: an answer of an older one is not heard. */
  connection: number;
}

/** Everything there is in one execution: a store, servers over it, people, time. */
export interface World {
  readonly subject: Subject;
  readonly scenario: Scenario;
  readonly threadId: string;
  readonly time: WorldTime;
  readonly log: LogChecker;
  readonly servers: readonly ServerProcess[];
  readonly people: readonly Person[];
  readonly executions: readonly Execution[];
  readonly answers: readonly Answer[];
  readonly violations: Violation[];
  calls: readonly PendingCall[];
  ghosts: readonly PendingCall[];
  readonly spent: Spent;
  /** Writes that were answered, by key: they may be sent once more. */
  readonly sent: ReadonlyMap<string, Request>;
  readonly lease: { readonly driverId: string; readonly until: number } | null;
  /** Where the log came from, in one number. */
  readonly logHash: number;
  addServer(name: string): ServerProcess;
  send(person: Person, again?: Request): void;
  crash(server: ServerProcess): void;
}

/** What the scheduler has used up. */
export interface Spent {
  faults: number;
  crashes: number;
  jumps: number;
  follows: number;
  advances: number;
  delays: number;
  repeats: number;
  /** The store's clock ran away from the servers' by more than their margin. */
  skewed: boolean;
}

export function createWorld(subject: Subject, scenario: Scenario, agents: AgentCache): World {
  const time: WorldTime = { now: START, storeAhead: 0 };
  const inner: ThreadStore = subject.memoryStore({ clock: { now: () => time.now + time.storeAhead } });
  const servers = new Map<string, ServerProcess>();
  const tools = scenario.tools ?? {};
  const idempotent = new Set(Object.keys(tools).filter((name) => tools[name]?.idempotent));
  const violations: Violation[] = [];
  const executions: Execution[] = [];
  const answers: Answer[] = [];
  const sent = new Map<string, Request>();
  const threadId = threadIdOf(subject, scenario.people);
  const log = createLogChecker(threadId, idempotent, scenario.wallAhead === undefined, (violation) =>
    violations.push(violation),
  );
  const spent: Spent = {
    ...{ faults: 0, crashes: 0, jumps: 0, follows: 0, advances: 0, delays: 0, repeats: 0 },
    skewed: false,
  };
  let lease: World["lease"] = null;
  let logHash = 0;

  const onApplied = (applied: AppliedAppend): void => {
    const { append, result, id } = applied;
    checkPosterConflict(applied, violations);
    if (id !== threadId) violations.push({ invariant: "I6", message: `a second thread ${id} was begun` });
    if (result.status !== "ok" || id !== threadId) return;
    for (const [index, { data }] of append.events.entries()) {
      log.add(parseEvent(data, result.first + index), append.batch);
    }
    log.endOfBatch();
    logHash = hashText(append.events.map(({ data }) => data).join(), logHash);
    const change = append.lease;
    if (change && "driverId" in change) {
      lease = { driverId: change.driverId, until: time.now + time.storeAhead + change.ttlMs };
    } else if (change && lease?.driverId === change.release) lease = null;
  };

  const watcher: StoreWatcher = {
    onCall(call) {
      if (!servers.get(call.server)?.crashed) world.calls = [...world.calls, call];
    },
    onGhost(ghost) {
      world.ghosts = [...world.ghosts, ghost];
    },
    onApplied,
    onLease(_id, driverId, ttlMs, result) {
      if (result.status === "ok") lease = { driverId, until: time.now + time.storeAhead + ttlMs };
    },
    onAnswer(server, text) {
      note(server, text);
    },
  };

  /** What a process learned decides its state: see `ServerProcess.history`. */
  const note = (server: string, text: string): void => {
    const known = servers.get(server);
    if (known) known.history = hashText(`${text}@${time.now}/${log.events.length}/${logHash}`, known.history);
  };

  const addServer = (name: string): ServerProcess => {
    const clock = createVirtualClock(time, scenario.wallAhead?.[name] ?? 0);
    let ids = 0;
    const engine = subject.createEngine(
      {
        agent: agents.agentOf(name, () => server),
        store: faultyStore(inner, name, watcher),
        onError: () => undefined,
        leaseMs: LEASE_MS,
      },
      { production: false, livesOn: scenario.drivesPosts ?? true, waitUntil: undefined },
      { clock, newId: () => `${name}-${++ids}` },
    );
    const server = createServerProcess(name, engine, clock, tools, (execution) => {
      checkExecution(world, execution);
      executions.push(execution);
    });
    servers.set(name, server);
    return server;
  };

  const world: World = {
    ...{ subject, scenario, threadId, time, log, executions, answers, violations, calls: [], ghosts: [], spent, sent },
    people: scenario.people.map((posts, index) => ({
      ...{ name: `person ${index + 1}`, posts, at: 0, tries: 0, connection: 0 },
      ...{ request: undefined, busyOn: undefined },
    })),
    get servers() {
      return [...servers.values()];
    },
    get lease() {
      return lease;
    },
    get logHash() {
      return logHash;
    },
    addServer,
    send(person, again) {
      const post = person.posts[person.at];
      const request = again ?? person.request ?? (post && pressed(post, log.thread, threadId));
      if (!request) return;
      const server = nextServer(request.post.to, person.tries, [...servers.values()]);
      if (!server) return;
      const connection = ++person.connection;
      person.request = request;
      person.busyOn = server.name;
      note(server.name, `post ${request.post.key}`);
      void perform(subject, server.engine, request).then((answer) => {
        if (person.connection !== connection) return;
        person.busyOn = undefined;
        if (answer.outcome === "unavailable") {
          person.tries++;
          return; // the same bytes are sent again
        }
        answers.push(answer);
        sent.set(request.post.key, request);
        person.request = undefined;
        person.tries = 0;
        if (!again) person.at++;
      });
    },
    crash(server) {
      server.crash();
      world.calls = world.calls.filter((call) => call.server !== server.name);
      for (const person of world.people) {
        if (person.busyOn !== server.name) continue;
        person.busyOn = undefined;
        person.connection++;
        person.tries++;
      }
    },
  };
  for (const name of scenario.servers) addServer(name);
  return world;
}

function nextServer(
  to: readonly string[],
  tries: number,
  servers: readonly ServerProcess[],
): ServerProcess | undefined {
  const alive = servers.filter((server) => !server.crashed);
  const wanted = to[tries % to.length];
  return alive.find((server) => server.name === wanted) ?? alive[0];
}
