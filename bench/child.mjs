// One measurement in a process of its own: `child.mjs <measurement> <subject>` prints it as JSON.
import { measurements } from "./measurements.mjs";

const [name, subject] = process.argv.slice(2);
const result = await measurements[name](subject);
console.log(JSON.stringify(result));
process.exit(0);
