// The commands of this repository, with no dependency but Node and npm:
//   npm run demo        install what the lockfile names, start the demo (-- --production: on a build)
//   npm test            install, check and test everything
//   npm run test:long   the unit tests with their long variants
//   npm run bench       the benchmarks
//   npm run load        many runs, threads and followers on Redis and Postgres
import { bench, load, test, testInner, testLong } from "./check.mjs";
import { demo } from "./demo.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Node.js 20.19 or newer is needed; this is ${process.version}.`);
  process.exit(1);
}

const commands = { demo, test, "test-inner": testInner, "test:long": testLong, bench, load };
const [name, ...rest] = process.argv.slice(2);
const command = commands[name];
if (!command) {
  console.error("usage: node scripts/run.mjs demo|test|test:long|bench|load");
  process.exit(2);
}
process.exitCode = await command(rest);
