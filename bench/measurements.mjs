// What one process measures. Each returns numbers only; run.mjs sets them beside those of the limit.
import { AsyncLocalStorage } from "node:async_hooks";
import { argumentDeltas } from "./argument-deltas.mjs";
import { firstBytes } from "./first-bytes.mjs";
import { drain, heapNow } from "./limit/measure.mjs";
import { makePlan } from "./limit/plan.mjs";
import { floor, floorJoin } from "./limit/server-limit.mjs";
import { decodeLog, foldLog, textLog } from "./log.mjs";
import { endpointOf, respond, run, waitForPerson } from "./toolrun.mjs";

const turns = makePlan({ rounds: 50, calls: 4 });
const text = makePlan({ deltas: 20_000 });
const written = makePlan({ rounds: 1, calls: 1, argBytes: 200 * 1_024 });
const short = makePlan({ rounds: 10, calls: 4 });
/** As many turns as a run may have. */
const long = makePlan({ rounds: 248, calls: 4 });
const slim = makePlan({ rounds: 100, calls: 4 });
const heavy = makePlan({ rounds: 100, calls: 4, resultBytes: 4_096 });
const plans = { short, long, slim, heavy };
const limits = { floor, floorJoin };

const WARM_MS = 2_500;
const MEASURE_MS = 1_500;

/** CPU in microseconds of one time, when the code is warm. */
async function microseconds(work) {
  await repeatFor(WARM_MS, work);
  return repeatFor(MEASURE_MS, work);
}

/**
 * CPU time of one time, in microseconds, over at least `ms` of CPU time: a busy machine warms up as much as an idle
 * one. The meter of limit/ collects garbage first; here that would measure V8 and not the work. At rest no run's
 * objects are alive, and a full collection throws away the code that was optimised for them.
 */
async function repeatFor(ms, work) {
  const start = process.cpuUsage();
  for (let times = 1; ; times++) {
    await work();
    const { user, system } = process.cpuUsage(start);
    if (user + system >= ms * 1_000) return (user + system) / times;
  }
}

/** One run's body, read to its end. */
async function drainRun(plan, subject) {
  if (subject in limits) return (await drain(limits[subject].respond(plan))).bytes;
  const { threadId, response } = await respond(plan);
  const { bytes } = await drain(response);
  await endpointOf(plan).store.remove(threadId);
  return bytes;
}

export const measurements = {
  async loop(subject) {
    const work = () => (subject in limits ? limits[subject].run(turns) : run(turns));
    return { perTurn: (await microseconds(work)) / turns.rounds };
  },
  async wire(subject) {
    const work = () => drainRun(turns, subject);
    const bytesPerCall = (await work()) / (turns.rounds * turns.calls);
    return { perTurn: (await microseconds(work)) / turns.rounds, bytesPerCall };
  },
  async deltas(subject) {
    const work = () => drainRun(text, subject);
    const bytesPerDelta = (await work()) / text.deltas;
    return { perDelta: (await microseconds(work)) / text.deltas, bytesPerDelta };
  },
  /** The same as Next runs handlers: every promise pays for the context it carries. */
  async deltasInContext(subject) {
    const context = new AsyncLocalStorage();
    const work = () => context.run({}, () => drainRun(text, subject));
    return { perDelta: (await microseconds(work)) / text.deltas };
  },
  async written(subject) {
    return { ms: (await microseconds(() => drainRun(written, subject))) / 1_000 };
  },
  /** As many deltas of one character as the subject says. */
  async characters(count) {
    return { perDelta: (await microseconds(argumentDeltas(Number(count)))) / Number(count) };
  },
  /** A run of our own, by the name of its plan. */
  async turnsOf(name) {
    return { perTurn: (await microseconds(() => run(plans[name]))) / plans[name].rounds };
  },
  firstByte: (subject) => firstBytes(subject),
  async fold() {
    const log = textLog(10_000);
    return { ms: (await microseconds(async () => foldLog(log))) / 1_000 };
  },
  async decode(chunk) {
    const log = textLog(10_000);
    return { ms: (await microseconds(() => decodeLog(log, Number(chunk)))) / 1_000 };
  },
  async waiting() {
    const plan = makePlan({ rounds: 1, calls: 1 });
    const count = 1_000;
    for (let index = 0; index < 50; index++) await waitForPerson(plan);
    const before = heapNow();
    for (let index = 0; index < count; index++) await waitForPerson(plan);
    return { heapKbPerRun: (heapNow() - before) / 1_024 / count };
  },
};
