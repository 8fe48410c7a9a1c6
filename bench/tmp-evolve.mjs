import { drain } from "./limit/measure.mjs";
import { makePlan } from "./limit/plan.mjs";
import { floor, floorJoin } from "./limit/server-limit.mjs";
import { endpointOf, respond, run } from "./toolrun.mjs";

const plan = makePlan({ rounds: 50, calls: 4 });
const text = makePlan({ deltas: 20_000 });
const wire = async (p) => {
  const { threadId, response } = await respond(p);
  await drain(response);
  await endpointOf(p).store.remove(threadId);
};
const subjects = {
  floor: [() => floor.run(plan), 50, 40],
  loop: [() => run(plan), 50, 4],
  floorWire: [async () => drain(floor.respond(plan)), 50, 10],
  wire: [() => wire(plan), 50, 3],
  join: [async () => drain(floorJoin.respond(text)), 20000, 2],
  deltas: [() => wire(text), 20000, 2],
};
const names = (process.argv[3] ?? "floor,loop,floorWire,wire,join,deltas").split(",");
const sums = {};
const rounds = Number(process.argv[2] ?? 20);
for (let r = 0; r < rounds; r++)
  for (const name of names) {
    const [work, per, times] = subjects[name];
    const c = process.cpuUsage();
    for (let i = 0; i < times; i++) await work();
    const d = process.cpuUsage(c);
    if (r >= rounds / 2) (sums[name] ??= []).push((d.user + d.system) / times / per);
  }
const med = (a) => a.sort((x, y) => x - y)[a.length >> 1];
for (const n of names) console.log(n.padEnd(10), med(sums[n]).toFixed(2), "us, min", sums[n][0].toFixed(2));
process.exit(0);
