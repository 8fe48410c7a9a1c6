import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBrowser } from "./find-browser.mjs";
import { bin, freePort, root, run } from "./process.mjs";

const nothing = { passed: 0, failed: 0, skipped: 0 };

/** Runs every unit test and counts what ran. */
export function unitTests(output, env = {}) {
  const file = join(output, "unit.json");
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const code = run(bin("vitest"), args, { env });
  const result = readJson(file);
  if (!result) return { ...nothing, code };
  const crashed = result.testResults.filter(
    (suite) => suite.status === "failed" && suite.assertionResults.length === 0,
  );
  return {
    code,
    passed: result.numPassedTests,
    failed: result.numFailedTests + crashed.length,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}

/** Runs the browser tests on the production build and counts what ran. */
export async function browserTests(output, env = {}) {
  const browser = findBrowser();
  if (!browser) return { ...nothing, code: 1 };
  const file = join(output, "browser.json");
  const database = mkdtempSync(join(tmpdir(), "toolrun-e2e-"));
  const code = run(bin("playwright", "apps/demo"), ["test", "--reporter=list,json"], {
    cwd: join(root, "apps/demo"),
    env: {
      ...env,
      CHROME_PATH: browser,
      PLAYWRIGHT_JSON_OUTPUT_NAME: file,
      E2E_PORT: String(await freePort(3210)),
      E2E_PGLITE_DIR: database,
    },
  });
  rmSync(database, { recursive: true, force: true });
  const stats = readJson(file)?.stats;
  if (!stats) return { ...nothing, code };
  return { code, passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped };
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
