import { rootOf } from "../../src/protocol/thread.ts";
import type { Delivery, PendingCall } from "./faulty-store.ts";
import { hashText } from "./hash-text.ts";
import { look, pressed } from "./person.ts";
import type { ServerProcess } from "./server-process.ts";
import type { World } from "./world.ts";
import { LEASE_MS } from "./world.ts";

/** How much may go wrong in one schedule. */
export interface Bounds {
  readonly faults: number;
  /** Steps taken out of turn: the first enabled one is in turn. */
  readonly delays: number;
  /** At most this many steps in a schedule. */
  readonly steps: number;
  /** Somebody may look while the owner's lease is good, too: many more schedules. */
  readonly earlyLooks?: boolean | undefined;
}

/** One thing that may happen next. */
export interface Choice {
  readonly label: string;
  readonly fault: boolean;
  /** Taken before what is in turn. */
  readonly outOfTurn?: boolean | undefined;
  perform(): void;
}

const MAX_CRASHES = 1;
const MAX_JUMPS = 2;
const MAX_ADVANCES = 40;

/** What goes on by itself, oldest first: while there is any of it, the world is not at its end. */
export function stepsOf(world: World): readonly Choice[] {
  const steps: Choice[] = world.calls.map((call) => delivery(world, call, "ok"));
  for (const server of alive(world)) {
    for (const work of server.work) {
      steps.push(step(work.label, () => received(server, work.label, () => work.proceed())));
    }
    if (server.clock.nextDue() <= world.time.now) {
      steps.push(step(`${server.name} timers`, () => received(server, "timers", () => server.clock.fire())));
    }
  }
  for (const person of world.people) {
    if (person.busyOn !== undefined) continue;
    const post = person.posts[person.at];
    if (!post || !(person.request ?? pressed(post, world.log.thread, world.threadId))) continue;
    steps.push(step(`${person.name} ${post.act} ${post.key}`, () => world.send(person)));
  }
  if (steps.length === 0 && world.spent.advances < MAX_ADVANCES) {
    const due = Math.min(...alive(world).map((server) => server.clock.nextDue()));
    if (Number.isFinite(due)) {
      steps.push(
        step(`+${due - world.time.now} ms`, () => {
          world.spent.advances++;
          world.time.now = due;
        }),
      );
    }
  }
  return steps;
}

/** What may happen beside: faults within the bound, and somebody looking at the thread. */
export function optionsOf(world: World, bounds: Bounds): readonly Choice[] {
  const options: Choice[] = [];
  const { spent, scenario } = world;
  const early = bounds.earlyLooks === true || (bounds.faults === 0 && scenario.drivesPosts !== false);
  const leased = world.lease !== null && world.lease.until > world.time.now + world.time.storeAhead;
  const mayLook = early || world.log.thread.driverId === null || !leased;
  if (spent.follows < (scenario.follows ?? 0) && isRunning(world) && mayLook) {
    for (const server of alive(world)) options.push(step(`look on ${server.name}`, () => follow(world, server)));
  }
  for (const ghost of world.ghosts) options.push(step(ghost.label, () => arrive(world, ghost)));
  if (spent.crashes > 0 && spent.jumps < MAX_JUMPS) options.push(jump(world, false));
  if (spent.faults >= bounds.faults) return options;
  for (const call of world.calls) {
    for (const how of faultsOf(call)) options.push(delivery(world, call, how));
  }
  for (const person of world.people) {
    const last = person.posts[person.at - 1];
    if (!last || person.busyOn !== undefined || spent.repeats > 0) continue;
    const answered = world.sent.get(last.key);
    if (answered) {
      options.push(
        fault(world, `${person.name} ${last.act} ${last.key} again`, () => {
          spent.repeats++;
          world.send(person, answered);
        }),
      );
    }
  }
  if (spent.crashes < MAX_CRASHES) {
    for (const server of alive(world)) {
      if (!isBusy(world, server)) continue;
      options.push(crash(world, server, undefined));
      for (const call of world.calls) {
        if (call.server === server.name && call.writes) options.push(crash(world, server, call));
      }
    }
  }
  if (spent.crashes === 0 && spent.jumps < MAX_JUMPS && isRunning(world)) options.push(jump(world, true));
  if (!spent.skewed && isRunning(world)) {
    options.push(
      fault(world, `store clock +${LEASE_MS + 1} ms`, () => {
        spent.skewed = true;
        world.time.storeAhead += LEASE_MS + 1;
      }),
    );
  }
  return options;
}

/** Two worlds with the same text go on in the same way. */
export function stateOf(world: World): string {
  const { time, ghosts, executions, spent, lease } = world;
  const servers = world.servers.map((server) => `${server.name}${server.crashed ? "x" : server.history}`);
  const people = world.people.map(({ at, tries, busyOn, request }) => `${at}.${tries}.${busyOn}.${request?.post.key}`);
  const effects = executions.map(({ server, callId, attempt }) => `${server}${callId}#${attempt}`).sort();
  const calls = world.calls.map(({ label }) => label).sort();
  return [
    ...[world.log.events.length, world.logHash, lease?.driverId, lease?.until, time.now, time.storeAhead],
    ...[servers, people, effects, calls, ghosts.map(({ label }) => label)].map((list) => list.join("|")),
    ...[spent.crashes, spent.jumps, spent.follows, spent.skewed, spent.repeats, spent.advances],
    world.answers.map(({ key, outcome }) => `${key}=${outcome}`).join(),
  ].join("\n");
}

/** Somebody opens the thread over HTTP: their server takes a run up whose driver is gone. */
export function follow(world: World, server: ServerProcess): void {
  world.spent.follows++;
  received(server, "look", () => void look(world.subject, server.engine, world.threadId));
}

export function alive(world: World): readonly ServerProcess[] {
  return world.servers.filter((server) => !server.crashed);
}

/** A write that was on its way for long arrives. */
export function arrive(world: World, ghost: PendingCall): void {
  world.ghosts = world.ghosts.filter((other) => other !== ghost);
  ghost.applyOnly();
}

function isRunning(world: World): boolean {
  return rootOf(world.log.thread) !== undefined;
}

function isBusy(world: World, server: ServerProcess): boolean {
  if (server.work.length > 0 || Number.isFinite(server.clock.nextDue())) return true;
  return world.calls.some((call) => call.server === server.name);
}

function faultsOf(call: PendingCall): readonly Delivery[] {
  if (call.answering) return ["lost"];
  return call.writes ? ["lost", "late", "slow"] : ["fail"];
}

function delivery(world: World, call: PendingCall, how: Delivery): Choice {
  const perform = (): void => {
    world.calls = world.calls.filter((other) => other !== call);
    call.deliver(how);
  };
  return how === "ok" ? step(call.label, perform) : fault(world, `${how}: ${call.label}`, perform);
}

function crash(world: World, server: ServerProcess, after: PendingCall | undefined): Choice {
  return fault(world, `crash ${server.name}${after ? ` after ${after.label} was applied` : ""}`, () => {
    world.spent.crashes++;
    after?.applyOnly();
    world.crash(server);
  });
}

/** Everybody is paused for longer than a lease; after a crash that is what the others wait for. */
function jump(world: World, counts: boolean): Choice {
  const perform = (): void => {
    world.spent.jumps++;
    world.time.now += LEASE_MS + 1;
  };
  return counts ? fault(world, `pause ${LEASE_MS + 1} ms`, perform) : step(`+${LEASE_MS + 1} ms`, perform);
}

function received(server: ServerProcess, what: string, perform: () => void): void {
  server.history = hashText(what, server.history);
  perform();
}

function step(label: string, perform: () => void): Choice {
  return { label, fault: false, perform };
}

function fault(world: World, label: string, perform: () => void): Choice {
  return {
    label,
    fault: true,
    perform() {
      world.spent.faults++;
      perform();
    },
  };
}
