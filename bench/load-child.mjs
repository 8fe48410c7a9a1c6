// A process of `npm run load`: its role and options come as JSON.
import { followers } from "./load/followers.mjs";
import { server } from "./load/server.mjs";
import { snapshot } from "./load/snapshot.mjs";
import { threads } from "./load/threads.mjs";
import { waiting } from "./load/waiting.mjs";

const roles = { followers, server, snapshot, threads, waiting };
const { role, ...options } = JSON.parse(process.argv[2] ?? "{}");
await roles[role](options, {
  say: (name, value) => process.send({ name, value }),
  on: (name, listener) =>
    process.on("message", (message) => {
      if (message.name === name) listener(message.value);
    }),
});
process.on("disconnect", () => process.exit());
