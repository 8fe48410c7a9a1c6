// The parent of all processes of `npm run load`: starts a database for each measurement and prints what comes of it.
import { cpus } from "node:os";
import { startChild } from "./load/process.mjs";
import { startService } from "./load/services.mjs";
import { streaming } from "./load/streaming.mjs";
import { toMarkdown } from "./load/table.mjs";

const args = Object.fromEntries(
  process.argv.slice(2).map((arg) => {
    const [name, value = "yes"] = arg.replace(/^--/, "").split("=");
    return [name, value];
  }),
);
const listOf = (name, otherwise) => (args[name] ?? otherwise).split(",");
const numbersOf = (name, otherwise) => listOf(name, otherwise).map(Number);
const stores = listOf("stores", "redis,postgres");
const everyStore = ["memory", ...stores];

const parts = {
  async streaming() {
    const seconds = Number(args.seconds ?? 60);
    const runs = numbersOf("runs", "100,200,400");
    const connections = Number(args.connections ?? 10);
    // Once more with a server that drives and another one that is followed too: what notifications cost.
    const scenarios = [...runs.map((count) => [count, 1]), [runs[Math.min(1, runs.length - 1)], 2]];
    for (const name of stores) {
      const columns = [];
      for (const [count, servers] of scenarios) {
        const measured = await withService(name, ({ url }) =>
          streaming({ store: name, url, connections, runs: count, servers, seconds, profile: "profile" in args }),
        );
        columns.push({ title: `${count} runs${servers > 1 ? `, ${servers} servers` : ""}`, ...measured });
      }
      print(`Runs that stream at once, ${name}, ${seconds} s`, columns);
    }
  },
  async waiting() {
    print("2,000 runs that wait for a person", await eachStore(everyStore, "waiting", { count: 2_000 }));
  },
  async snapshot() {
    const runs = numbersOf("lengths", "1,5,20,50,100,200");
    for (const name of everyStore) print(`A long thread, ${name}`, await ask(name, "snapshot", { runs }));
  },
  async threads() {
    const counts = numbersOf("threads", "100,10000,100000");
    for (const name of stores) {
      const { columns, notes } = await ask(name, "threads", { counts });
      print(`Many threads, ${name}`, columns);
      for (const note of notes) console.log(`${note}\n`);
    }
  },
};

console.log(`${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${process.versions.node}\n`);
for (const name of listOf("parts", "streaming,waiting,snapshot,threads")) await parts[name]();

async function withService(name, work) {
  const service = await startService(name);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** What a child measures on a store, in a process and with a database of its own. */
function ask(name, role, options) {
  return withService(name, async ({ url }) => {
    const child = startChild({ role, store: name, url, ...options });
    try {
      return await child.hears("result");
    } finally {
      await child.end();
    }
  });
}

async function eachStore(names, role, options) {
  const columns = [];
  for (const name of names) columns.push({ title: name, ...(await ask(name, role, options)) });
  return columns;
}

function print(title, columns) {
  console.log(`${toMarkdown(title, columns)}\n`);
}
