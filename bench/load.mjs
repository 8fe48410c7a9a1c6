// npm run load: what many runs, threads and followers cost on real stores, as the Markdown tables of docs/capacity.md.
// Fails where a follower missed an event or saw one twice. Behind `--`:
//   --parts=streaming,waiting,snapshot,threads  --stores=redis,postgres  --runs=100,200,400  --seconds=60
//   --connections=10 (of a server to Postgres)  --lengths=1,5,20,50,100,200 (runs of a thread)  --threads=100,10000,100000
//   --profile (leaves CPU profiles in test-results/load)
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
// Beside the package, where clients are found as an application finds them.
const output = join(root, "packages/core/node_modules/.cache/load");

const build = await rolldown({
  input: { main: join(root, "bench/load-main.mjs"), child: join(root, "bench/load-child.mjs") },
  external: ["zod", "zod/mini", "pg", "redis"],
  cwd: root,
  platform: "node",
  resolve: { modules: [join(root, "packages/core/node_modules"), "node_modules"] },
});
await build.write({ dir: output, format: "esm", entryFileNames: "[name].mjs" });
await build.close();

const { status } = spawnSync(process.execPath, [join(output, "main.mjs"), ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
