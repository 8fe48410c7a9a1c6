import { makePlan } from "./limit/plan.mjs";
import { run, endpointOf } from "./toolrun.mjs";
const plan = makePlan({ rounds: 50, calls: 4 });
const { store } = endpointOf(plan);
const appends = []; const orig = store.append; 
store.append = (...a) => { appends.push(a[2].events.length); return orig.apply(store, a); };
for (let i = 0; i < Number(process.argv[2] ?? 60); i++) {
  const t = performance.now(); await run(plan);
  if (i % 30 == 0) console.log(i, ((performance.now() - t) / 50 * 1000).toFixed(0), "us/turn");
  if (i == 0) { console.log(appends.length, "appends", appends.slice(0, 40).join(",")); }
}
