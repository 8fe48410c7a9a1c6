import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeBareApp } from "./bare-app.mjs";
import { browserTests, unitTests } from "./count-tests.mjs";
import { bin, install, pnpm, root, run } from "./process.mjs";

const output = join(root, "test-results");
const total = { passed: 0, failed: 0, skipped: 0 };
const broken = [];

/** Turbo looks for pnpm on PATH; `pnpm exec` puts the pinned one there even where none is installed. */
export function test() {
  install();
  return pnpm("exec", "node", "scripts/run.mjs", "test-inner");
}

export async function testInner() {
  freshOutput();
  const turbo = (task) => run(bin("turbo"), ["run", task, "--output-logs=errors-only"]) === 0;
  await step("lint", () => run(bin("biome"), ["check", "--error-on-warnings", "."]) === 0);
  await step("unused code", () => run(bin("knip"), []) === 0);
  await step("build", () => turbo("build"));
  await step("packages", () => ["core", "react"].every(packageIsSound));
  await step("types", () => turbo("typecheck") && run(bin("tsc"), ["--noEmit"]) === 0);
  await step("unit tests", () => count(unitTests(output)));
  let bareApp;
  await step("a stranger's app", () => {
    bareApp = makeBareApp(output);
    return bareApp !== undefined;
  });
  await step("browser tests", async () => count(await browserTests(output, { BARE_APP: bareApp ?? "" })));
  if (bareApp) rmSync(bareApp, { recursive: true, force: true });
  return report();
}

export async function testLong() {
  install();
  freshOutput();
  await step("unit tests, long", () => count(unitTests(output, { TOOLRUN_LONG: "1" })));
  return report();
}

export function bench(args) {
  install();
  return run(process.execPath, ["--expose-gc", "bench/run.mjs", ...args]);
}

export function load(args) {
  install();
  return run(process.execPath, ["bench/load.mjs", ...args]);
}

function freshOutput() {
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
}

async function step(name, perform) {
  const start = performance.now();
  const failedBefore = total.failed;
  const ok = await perform();
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  if (ok) return;
  broken.push(name);
  if (total.failed === failedBefore) total.failed += 1;
}

function count(result) {
  for (const key of Object.keys(total)) total[key] += result[key];
  return result.code === 0 && result.failed === 0;
}

function report() {
  if (broken.length > 0) console.error(`\nFailed: ${broken.join(", ")}`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  return broken.length > 0 ? 1 : 0;
}

/** Packs as a release would and checks what a consumer would get. */
function packageIsSound(name) {
  const cwd = join(root, "packages", name);
  const tarball = join(output, `${name}.tgz`);
  const attw = [tarball, "--profile", "esm-only", "--exclude-entrypoints", "ui.css", "--format", "ascii"];
  return (
    run("pnpm", ["pack", "--out", tarball], { cwd, stdio: ["ignore", "ignore", "inherit"] }) === 0 &&
    run(bin("publint"), ["--strict"], { cwd }) === 0 &&
    run(bin("attw"), attw, { cwd, stdio: ["ignore", "ignore", "inherit"] }) === 0
  );
}
