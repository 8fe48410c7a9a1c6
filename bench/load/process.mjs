// Children of the load measurement, and what they and their parent say to each other.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts load-child.mjs, which is beside this file when both are bundled. */
export function startChild({ profile = false, ...options }) {
  const file = fileURLToPath(new URL("child.mjs", import.meta.url));
  const execArgv = ["--expose-gc", ...(profile ? ["--cpu-prof", "--cpu-prof-dir=test-results/load"] : [])];
  const env = { ...process.env, NODE_ENV: "development" };
  const child = fork(file, [JSON.stringify(options)], { execArgv, env });
  const said = [];
  let failure;
  const waiting = [];
  const look = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  child.on("message", (message) => {
    said.push(message);
    look();
  });
  child.on("exit", (code) => {
    failure = new Error(`The ${options.role} process ended with ${code}.`);
    look();
  });
  const hears = async (name) => {
    for (;;) {
      const index = said.findIndex((message) => message.name === name);
      if (index >= 0) return said.splice(index, 1)[0].value;
      if (failure) throw failure;
      await new Promise((resolve) => waiting.push(resolve));
    }
  };
  return {
    hears,
    /** Asks, and waits for the answer of the same name. */
    ask(name, value) {
      child.send({ name, value });
      return hears(name);
    },
    async end() {
      if (failure) return;
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}
