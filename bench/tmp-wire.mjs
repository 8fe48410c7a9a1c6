import { makePlan } from "./limit/plan.mjs";
import { respond } from "./toolrun.mjs";

const plan = makePlan({ rounds: 3, calls: 4 });
const { response } = await respond(plan);
console.log(await response.text());
process.exit(0);
