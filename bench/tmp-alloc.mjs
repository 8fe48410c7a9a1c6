import { Session } from "node:inspector/promises";
import { makePlan } from "./limit/plan.mjs";
import { run } from "./toolrun.mjs";

const plan = makePlan({ rounds: 50, calls: 4 });
for (let i = 0; i < 30; i++) await run(plan);
const s = new Session();
s.connect();
await s.post("HeapProfiler.startSampling", {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
});
for (let i = 0; i < 20; i++) await run(plan);
const { profile } = await s.post("HeapProfiler.stopSampling");
const self = new Map(),
  total = new Map();
const walk = (n, seen) => {
  const k = `${n.callFrame.functionName || "(anon)"}:${n.callFrame.lineNumber + 1}`;
  self.set(k, (self.get(k) ?? 0) + n.selfSize);
  let t = n.selfSize;
  for (const c of n.children) t += walk(c);
  total.set(k, (total.get(k) ?? 0) + t);
  return t;
};
const all = walk(profile.head);
console.log("KB per turn", (all / 1024 / 1000).toFixed(1));
const a = [...self].sort((x, y) => y[1] - x[1]).slice(0, 25),
  b = [...total].sort((x, y) => y[1] - x[1]).slice(0, 25);
a.forEach(([k, v], i) =>
  console.log(
    (v / 1024 / 1000).toFixed(2).padStart(8),
    k.padEnd(40),
    (b[i][1] / 1024 / 1000).toFixed(2).padStart(8),
    b[i][0],
  ),
);
process.exit(0);
