import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { mcpTools } from "../../../src/mcp.ts";
import { call, calls, say } from "../../../src/testing/scripted-model.ts";
import { assistant, clerk } from "./assistant.ts";
import { linkedServer, listed, text } from "./linked.ts";
import { everything } from "./mcp-servers.ts";

const DONE = say("Done.");

describe("the list of a server's tools", () => {
  test("is read to its last page", async () => {
    const server = linkedServer([[listed("a")], [listed("b")], [listed("c")]]);
    expect(Object.keys(await mcpTools(await server.connect()))).toEqual(["a", "b", "c"]);
  });

  test("is read once, until the server says that it changed", async () => {
    const server = linkedServer([[listed("a")]]);
    const client = await server.connect();
    await Promise.all([mcpTools(client), mcpTools(client)]);
    await mcpTools(client);
    expect(server.listed).toBe(1);
    server.pages = [[listed("b")]];
    await server.changed();
    await turnOfTheLoop();
    expect(Object.keys(await mcpTools(client))).toEqual(["b"]);
    expect(server.listed).toBe(2);
  });

  test("is read again when it is too old", async () => {
    const server = linkedServer([[listed("a")]]);
    const client = await server.connect();
    await mcpTools(client);
    server.pages = [[listed("b")]];
    expect(Object.keys(await mcpTools(client, { maxAgeMs: 0 }))).toEqual(["b"]);
  });

  test("of two servers lives side by side under prefixes", async () => {
    const [one, two] = [linkedServer([[listed("a")]]), linkedServer([[listed("a")]])];
    const [first, second] = [await one.connect(), await two.connect()];
    const made = assistant(
      first,
      [calls(call("one_a", {}), call("two_a", {})), DONE],
      {},
      {
        dynamicTools: async () => ({
          ...(await mcpTools(first, { prefix: "one", readOnly: ["a"] })),
          ...(await mcpTools(second, { prefix: "two", readOnly: ["a"] })),
        }),
      },
    );
    expect((await made.start()).steps.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect([one.called.length, two.called.length]).toEqual([1, 1]);
  });

  test("a tool whose definition changed while its call waited is refused, and asks anew", async () => {
    const server = linkedServer([[listed("pay")]]);
    const made = assistant(await server.connect(), [call("pay", {}), call("pay", { all: true }), DONE]);
    const waiting = await made.start();
    server.pages = [[listed("pay", { inputSchema: { type: "object", properties: { all: { type: "boolean" } } } })]];
    await server.changed();
    await expect(made.approve(waiting)).rejects.toMatchObject({ code: "tool-changed" });
    expect(server.called).toEqual([]);
  });

  test("a new description changes nothing", async () => {
    const server = linkedServer([[listed("pay")]]);
    const made = assistant(await server.connect(), [call("pay", {}), DONE]);
    const waiting = await made.start();
    server.pages = [[listed("pay", { description: "Pays, without the typo." })]];
    await server.changed();
    expect((await made.approve(waiting)).steps).toMatchObject([{ status: "succeeded" }]);
  });
});

describe("a connection", () => {
  test("that is closed is opened again where there is a function that connects", async () => {
    const server = linkedServer([[listed("a")]]);
    let connects = 0;
    const connect = () => {
      connects++;
      return server.connect();
    };
    const made = assistant(connect, [call("a", {}), call("a", {}), DONE], { readOnly: ["a"] });
    await mcpTools(connect);
    await server.drop();
    expect((await made.start()).steps).toMatchObject([{ status: "succeeded" }, { status: "succeeded" }]);
    expect(connects).toBe(2);
  });

  test("that closes between the list and the call is opened again for the call", async () => {
    const server = linkedServer([[listed("pay")]]);
    const dropped = () => {
      void server.drop();
      return call("pay", {});
    };
    const connect = () => server.connect();
    const made = assistant(connect, [dropped, DONE], { approval: "allow" });
    expect((await made.start()).steps).toMatchObject([{ status: "succeeded", attempt: 1 }]);
    expect(server.called).toHaveLength(1);
  });

  test("that is closed fails the attempt where there is only a client, and says what helps", async () => {
    const server = linkedServer([[listed("a")]]);
    const made = assistant(await server.connect(), [], {}, { modelAttempts: 1 });
    await server.drop();
    expect(await made.start()).toMatchObject({ outcome: "failed", code: "tools-failed" });
    expect(String(made.errors[0])).toContain("Give mcpTools a function that connects");
  });

  test("that breaks in a call: the call is not sent again, and nobody claims to know what it did", async () => {
    const server = linkedServer([[listed("pay")]], async () => {
      await server.drop();
      return text("too late");
    });
    const made = assistant(() => server.connect(), [call("pay", {}), DONE], { approval: "allow" });
    const ended = await made.start();
    expect(ended.steps).toMatchObject([{ status: "failed", effect: "unknown" }]);
    expect(server.called).toHaveLength(1);
    expect(JSON.stringify(made.model.requests[1])).toContain("find out before you try again");
  });

  test.each([
    ["the server says it of the tool", { annotations: { idempotentHint: true } }, {}],
    ["we say it of the tool", {}, { idempotent: ["put"] }],
  ])("that breaks in a call which is safe to repeat, because %s: it is sent again", async (_who, tool, options) => {
    const server = linkedServer([[listed("put", tool)]], async () => {
      if (server.called.length === 1) await server.drop();
      return text("put");
    });
    const made = assistant(() => server.connect(), [call("put", {}), DONE], { approval: "allow", ...options });
    const ended = await made.start();
    expect(ended.steps).toMatchObject([{ status: "succeeded", attempt: 2, output: "put" }]);
    expect(server.called).toHaveLength(2);
  });

  test("to a server that was started anew is opened again: the old session did nothing", async () => {
    const server = await everything("http");
    try {
      const connect = () => server.connect();
      const made = assistant(connect, [call("echo", { message: "a" }), call("echo", { message: "b" }), DONE], {
        readOnly: ["echo"],
        onError: () => undefined,
      });
      await mcpTools(connect, { onError: () => undefined });
      await server.kill();
      await (await server.connect()).close(); // starts it again, with no memory of the session
      expect((await made.start()).steps).toMatchObject([{ output: "Echo: a" }, { output: "Echo: b" }]);
    } finally {
      await server.close();
    }
  }, 30_000);

  test("to a process that was killed in a call fails the call as unknown", async () => {
    const server = await everything("stdio");
    try {
      const name = "trigger-long-running-operation";
      const connect = () => server.connect();
      const quiet = { onError: () => undefined };
      const script = [call("echo", { message: "a" }), call(name, { duration: 60, steps: 600 }), DONE];
      const rules = { approval: "allow", ...quiet } as const;
      // Its server calls it idempotent; a rule of ours that it is not does not exist, so three processes are killed.
      const made = assistant(connect, script, rules);
      await made.begin();
      for (let attempt = 1; attempt <= 3; attempt++) {
        const step = async () => (await made.read()).steps[1];
        await expect
          .poll(async () => (await step())?.progress && (await step())?.attempt, { timeout: 15_000 })
          .toBe(attempt);
        await server.kill();
      }
      await expect.poll(async () => (await made.read()).outcome, { timeout: 15_000 }).toBe("completed");
      expect((await made.read()).steps[1]).toMatchObject({ status: "failed", effect: "unknown", attempt: 3 });
    } finally {
      await server.close();
    }
  }, 60_000);

  test("a stop sends the server a cancellation", async () => {
    let cancelled = false;
    const server = linkedServer([[listed("wait")]], (_name, _input, { signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          cancelled = true;
          resolve(text("never read"));
        });
      });
    });
    const made = assistant(await server.connect(), [call("wait", {}), DONE], { approval: "allow" });
    await made.begin();
    await expect.poll(() => server.called.length).toBe(1);
    await (await made.toolrun.stop({ user: clerk, threadId: made.threadId })).settled();
    await expect.poll(() => cancelled).toBe(true);
  });
});
