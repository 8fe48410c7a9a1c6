import type { Agent } from "../../../src/agent/agent.ts";
import type { Run } from "../../../src/protocol/thread.ts";
import { openAsk, rootOf } from "../../../src/protocol/thread.ts";
import { newThreadId } from "../../../src/server/writer.ts";
import type { WorldTime } from "../../explorer/virtual-clock.ts";
import { createVirtualClock } from "../../explorer/virtual-clock.ts";
import type { Write } from "./person.ts";
import { CLERK, isTime, outcomeOf, press } from "./person.ts";
import type { OutsideClock } from "./place.ts";
import type { Act, Plan } from "./plan.ts";
import { plannedAgent } from "./planned-agent.ts";
import { createRecorder } from "./recorder.ts";
import type { Seen } from "./seen.ts";
import type { Server } from "./server.ts";
import { startServer } from "./server.ts";
import type { Subject } from "./subject-type.ts";

const LEASE_MS = 30_000;
const START = 1_000_000;
const MOST_JUMPS = 3_000;
const MOST_EVENTS = 6_000;
const MOST_PUSHES = 40;

/** Loads what is loaded when it is first needed, so that it takes no real time in the middle of a run. */
export async function warmUp({ schemaFromJson }: Subject): Promise<void> {
  await schemaFromJson({ type: "string" });
}

/** Plays a plan on the real engine, over a memory store and a clock that jumps. The same plan gives the same run. */
export async function play(subject: Subject, plan: Plan): Promise<Seen> {
  const threadId = newThreadId(CLERK, "first");
  const record = createRecorder(threadId);
  const onRejection = (reason: unknown): void => {
    record.rejections.push(reason);
  };
  process.on("unhandledRejection", onRejection);
  try {
    const world = createWorld(subject, plan, threadId, record);
    const stuck = await world.live();
    const { onAppended: _, ...seen } = record;
    return { ...seen, thread: record.thread, plan, threadId, stuck, leftMs: world.leftMs() };
  } finally {
    process.off("unhandledRejection", onRejection);
  }
}

function createWorld(
  subject: Subject,
  plan: Plan,
  threadId: string,
  record: ReturnType<typeof createRecorder>,
): { live(): Promise<string | undefined>; leftMs(): number } {
  const { events, reports } = record;
  const time: WorldTime = { now: START, storeAhead: 0 };
  const chores = createVirtualClock(time, 0);
  const store = subject.memoryStore({ clock: { now: () => time.now } });
  const sent: Write[] = [];
  let calls = 0;
  let jumps = 0;
  let leftMs = 0;
  let overSince: number | undefined;

  const counts = new Map<object, number>();
  const agentAt = (name: string, clock: OutsideClock): Agent =>
    plannedAgent(plan.agent, {
      ...{ subject, clock },
      countOf(counted) {
        const count = counts.get(counted) ?? 0;
        counts.set(counted, count + 1);
        return count;
      },
      onRequest: (call) => record.requests.push({ ...call, seq: events.length, server: name }),
      onExecute: (input, { callId, attempt, idempotencyKey: key, answers, signal: { aborted } }) => {
        const seen = { callId, attempt, key, input, answers, aborted };
        record.executions.push({ ...seen, seq: events.length, server: name });
      },
    });
  const report = (error: unknown): void => {
    reports.push(error);
  };
  const start = (name: string): Server =>
    startServer(name, (clock) => agentAt(name, clock), {
      ...{ subject, time, store, plan: plan.server, onError: report },
      latency: () => plan.server.latencies[calls++ % plan.server.latencies.length] ?? 0,
      onAppended: record.onAppended,
      wake: (id, dueAt) => {
        const { engine } = server;
        chores.after((dueAt ?? time.now) - time.now, () => void subject.takeOver(engine, id).catch(report));
      },
    });
  let servers = 0;
  let server = start("S");
  /** Servers that stand still, and those that went on after they had. */
  let others: readonly { readonly server: Server; readonly wakesAt: number }[] = [];

  const send = (write: Write): void => {
    sent.push(write);
    const { key, act, about } = write;
    const open = { key, act };
    record.open.add(open);
    const answer = (outcome: string): void => {
      record.open.delete(open);
      record.answers.push({ key, act, about, outcome, seq: events.length });
    };
    write.perform(server.verbs).then(
      () => answer("ok"),
      (error) => answer(outcomeOf(error)),
    );
  };
  const sweep = (): void => void server.verbs.sweep().catch(report);
  const strike = (act: Act & { do: "crash" | "pause" }): void => {
    if (act.do === "crash") {
      server.die();
      record.open.clear(); // nobody will answer
    } else others = [...others, { server, wakesAt: time.now + act.ms }];
    record.crashes.push(events.length);
    server = start(`S${++servers}`);
    chores.after(LEASE_MS + 1, sweep);
    if (act.do === "pause") chores.after(act.ms, () => undefined); // time passes at least until it goes on
  };
  const awake = (): readonly Server[] => [
    server,
    ...others.filter(({ wakesAt }) => wakesAt <= time.now).map((other) => other.server),
  ];
  const clocks = (): readonly (typeof chores)[] => [
    ...awake().flatMap(({ clock, outside }) => [clock, outside]),
    chores,
  ];

  /** Time passes to a point, and one clock's timers fire; those of another one that are due as well come next. */
  const jump = (until: number): void => {
    jumps++;
    time.now = Math.max(time.now, until);
    const due = clocks().filter((clock) => clock.nextDue() <= time.now);
    due[jumps % due.length]?.fire();
  };

  /** No run is active, nobody waits for an answer, nothing is under way. */
  const isOver = (): boolean =>
    !rootOf(record.thread) &&
    record.open.size === 0 &&
    others.every(({ wakesAt }) => wakesAt <= time.now) &&
    awake().every(({ outside }) => !Number.isFinite(outside.nextDue()));
  /** When its first timer is due. A server that stood still has to find out first that nothing is left to do. */
  const armedUntil = (): number => server.clock.nextDue();

  const perform = (act: Act, still: boolean): boolean => {
    if (act.do === "crash" || act.do === "pause") {
      if (!still && !isTime(act.when, record.thread)) return false;
      strike(act);
      return true;
    }
    const write = press(act, record.thread, `key-${sent.length}`, sent);
    if (write) send(write);
    return write !== undefined || still;
  };

  /** All is still and a run is not over: a question runs out, or the person stops the run. False: nobody can go on. */
  const push = (root: Run): boolean => {
    const { active, driverId } = record.thread;
    const waits = active.flatMap((run) => run.turn?.calls ?? []).some((call) => openAsk(call));
    if (root.status !== "waiting" || !waits || driverId !== null) return false;
    if (root.dueAt !== undefined && root.dueAt > time.now) {
      time.now = root.dueAt;
      sweep();
      return true;
    }
    const key = `end-${sent.length}`;
    send({ key, act: "stop", about: [], perform: (verbs) => verbs.stop({ user: CLERK, key, threadId }) });
    return true;
  };

  const first = { user: CLERK, key: "first", message: "Go" };
  send({ key: first.key, act: "send", about: [], perform: (verbs) => verbs.send(first) });

  return {
    leftMs: () => leftMs,
    /** Lets time pass and the person act until nothing happens any more; says so when that does not come. */
    async live() {
      const acts = [...plan.acts];
      let dueAt = START + (acts[0]?.after ?? 0);
      for (let pushes = 0; ; ) {
        await quiet();
        if (jumps > MOST_JUMPS || events.length > MOST_EVENTS) return `${jumps} jumps, ${events.length} events`;
        overSince = isOver() ? (overSince ?? time.now) : undefined;
        if (overSince !== undefined && Number.isFinite(armedUntil()))
          leftMs = Math.max(leftMs, armedUntil() - overSince);
        const [act] = acts;
        const next = Math.min(...clocks().map((clock) => clock.nextDue()));
        // A person whose time has come presses as soon as there is something to press, or when all is still.
        if (act && dueAt <= time.now && perform(act, !Number.isFinite(next))) {
          acts.shift();
          dueAt = time.now + (acts[0]?.after ?? 0);
          continue;
        }
        const until = Math.min(next, act && dueAt > time.now ? dueAt : Number.POSITIVE_INFINITY);
        if (Number.isFinite(until)) {
          jump(until);
          continue;
        }
        const root = rootOf(record.thread);
        if (!root) return undefined;
        if (pushes++ > MOST_PUSHES || !push(root)) {
          return `nothing happens: ${root.status}, driver ${record.thread.driverId}`;
        }
      }
    },
  };
}

/** Lets everything run that needs no timer. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
