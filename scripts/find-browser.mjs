import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { bin, root, run } from "./process.mjs";

const demo = join(root, "apps/demo");
const system = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A Chromium to test with: CHROME_PATH, Playwright's own, the system's; else one is installed. */
export function findBrowser() {
  const require = createRequire(join(demo, "package.json"));
  const downloaded = require("@playwright/test").chromium.executablePath();
  const find = () => [process.env.CHROME_PATH, downloaded, ...system].find((path) => path && existsSync(path));
  return find() ?? (installFromDebian() ? find() : undefined) ?? (download() ? find() : undefined);
}

function installFromDebian() {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return false;
  console.log("No Chromium found: installing Debian's.");
  if (run("apt-get", ["update"]) !== 0) return false;
  return run("apt-get", ["install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"]) === 0;
}

function download() {
  console.log("No Chromium found: asking Playwright to download one.");
  if (run(bin("playwright", "apps/demo"), ["install", "chromium"], { cwd: demo }) === 0) return true;
  console.error("No browser. Install one (Debian, Ubuntu: apt-get install chromium) or set CHROME_PATH.");
  return false;
}
