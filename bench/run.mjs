// npm run bench [-- --json] [--quick] [--only=B1]: every measurement in a process of its own, subjects taking turns,
// medians. Prints a table with the ratio to the limit program and writes bench/results.json.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { benches } from "./benches.mjs";
import { median } from "./limit/measure.mjs";
import { toRows, toTable } from "./report.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
// Beside the package, where zod is found as an application finds it.
const output = join(root, "packages/core/node_modules/.cache/bench");
const args = process.argv.slice(2);
const asJson = args.includes("--json");
const rounds = args.includes("--quick") ? 3 : 5;
const only = args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";

await bundle();
const chosen = benches.filter(({ name }) => name.startsWith(only));
const rows = toRows(chosen, measureAll(chosen));
writeFileSync(join(root, "bench/results.json"), `${JSON.stringify(rows, null, 2)}\n`);
console.log(asJson ? JSON.stringify(rows) : toTable(rows));

/** The sources as one module of plain JavaScript, not minified, so that a profile can be read. */
async function bundle() {
  const build = await rolldown({
    input: { child: join(root, "bench/child.mjs"), cold: join(root, "bench/cold.mjs") },
    external: ["zod", "zod/mini"],
    cwd: root,
    platform: "node",
    resolve: { modules: [join(root, "packages/core/node_modules"), "node_modules"] },
  });
  await build.write({ dir: output, format: "esm", entryFileNames: "[name].mjs" });
  await build.close();
}

/** The median of each number, by the place it was taken from. */
function measureAll(list) {
  const places = list.flatMap(({ value, limit }) => (limit ? [limit, value] : [value]));
  const processes = new Map(places.map(({ measurement, subject }) => [`${measurement} ${subject}`, []]));
  for (let round = 1; round <= rounds; round++) {
    if (!asJson) console.error(`round ${round} of ${rounds}`);
    for (const [name, results] of processes) results.push(measure(...name.split(" ")));
  }
  return ({ measurement, subject, number }) =>
    median(processes.get(`${measurement} ${subject}`).map((result) => result[number]));
}

function measure(measurement, subject) {
  const file = measurement === "cold" ? ["cold.mjs"] : ["child.mjs", measurement];
  const [name, ...rest] = file;
  const child = spawnSync(process.execPath, ["--expose-gc", join(output, name), ...rest, subject], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.status !== 0) throw new Error(`${measurement} of ${subject} failed (${child.status ?? child.signal}).`);
  return JSON.parse(child.stdout);
}
