// Prints the tests of every row of docs/rules.md; fails when a row has none and no reason for that.
//   npm run coverage:rules            counts real tests, as `vitest list` names them
//   npm run coverage:rules -- --fast  counts titles in the sources
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bin, env, root } from "./process.mjs";
import { checkRules, readRules, readTitles, titlesOfList } from "./rules.mjs";

const fast = process.argv.includes("--fast");
const rules = readRules(readFileSync(join(root, "docs/rules.md"), "utf8"));
const sources = readTitles(root);
const titles = fast ? sources : realTitles();
const { tests, problems } = checkRules(rules, titles, { exact: !fast });

for (const { id, demand, status, exempt } of rules) {
  const found = tests.get(id);
  const count = `${found.length} ${found.length === 1 ? "test" : "tests"}`;
  console.log(`${id}  ${exempt ? status : count}  ${demand}`);
  for (const { title, file } of found) console.log(`      ${title}  (${file})`);
}
const proven = rules.filter(({ id }) => tests.get(id).length > 0).length;
console.log(`\n${rules.length} rows, ${proven} with tests, ${titles.length} tests name a row.`);
for (const problem of problems) console.error(`FAIL ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Names of tests that would run, and the titles of the browser tests, which only their sources name. */
function realTitles() {
  const listed = spawnSync(bin("vitest"), ["list", "--json"], { cwd: root, env, encoding: "utf8", maxBuffer: 2 ** 28 });
  if (listed.status !== 0) throw new Error(`vitest list failed: ${listed.stderr || listed.error}`);
  const browser = sources.filter(({ file }) => file.endsWith(".spec.ts"));
  return [...titlesOfList(root, JSON.parse(listed.stdout)), ...browser];
}
