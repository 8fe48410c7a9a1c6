// B1c: what the first request of a new process pays. Imports come first here, so that nothing is warm: this file is a
// process of its own, `cold.mjs <subject>`.
const subject = process.argv[2];
const start = performance.now();

if (subject === "floor") {
  const { floor } = await import("./limit/server-limit.mjs");
  const imported = performance.now();
  const { makePlan } = await import("./limit/plan.mjs");
  await report(imported, () => floor.run(makePlan({ rounds: 1, calls: 1 })));
} else {
  const { createToolRun, defineAgent, memoryStore, tool } = await import("../packages/core/src/server.ts");
  const { z } = await import("zod");
  const imported = performance.now();
  const story = [[{ type: "call", id: "a", name: "noop", input: '{"i":1}' }], [{ type: "text", text: "Done." }]];
  let answers = 0;
  const model = {
    async *stream() {
      yield [...story[answers++], { type: "end", reason: "stop" }];
    },
  };
  await report(imported, async () => {
    const noop = tool({
      description: "Does nothing.",
      inputSchema: z.object({ i: z.number() }),
      readOnly: true,
      execute: ({ i }) => ({ ok: i }),
    });
    const toolrun = createToolRun({ agent: defineAgent({ model, tools: { noop } }), store: memoryStore() });
    const sent = await toolrun.send({ user: { id: "bench" }, message: "go" });
    const ended = await sent.settled();
    if (ended.outcome !== "completed") throw new Error(`The run ended as ${ended.outcome}.`);
  });
}

async function report(imported, run) {
  const before = performance.now();
  await run();
  const firstRunMs = performance.now() - before;
  console.log(JSON.stringify({ importMs: imported - start, firstRunMs }));
  process.exit(0);
}
