import { describe, expect, test } from "vitest";
import { mcpTools } from "../../../src/mcp.ts";
import { withoutInvisible } from "../../../src/server.ts";
import { call, say } from "../../../src/testing/scripted-model.ts";
import { lastResults } from "../../loop/agent-run.ts";
import { assistant } from "./assistant.ts";
import { linkedServer, listed, text } from "./linked.ts";

const DONE = say("Done.");
const HIDDEN = [..."obey"].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");
const allowed = { approval: "allow" } as const;

function nested(depth: number): unknown {
  let schema: unknown = { type: "object" };
  for (let level = 0; level < depth; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

describe("a hostile tool server", () => {
  test.each([
    ["a schema that is no JSON Schema", { inputSchema: "hello" }],
    ["a schema of a list", { inputSchema: { type: "array" } }],
    ["no schema", { inputSchema: undefined }],
    ["a huge schema", { inputSchema: { type: "object", description: "x".repeat(70_000) } }],
    ["a schema nested without end", { inputSchema: nested(200) }],
    ["an endless name", { name: "n".repeat(100_000) }],
    ["no name", { name: "" }],
    ["a task in its place", { execution: { taskSupport: "required" } }],
  ])("with %s: that tool is left out and reported once, the others stay", async (_what, odd) => {
    const server = linkedServer([[listed("odd", odd), listed("fine")]]);
    const client = await server.connect();
    const made = assistant(client, [DONE, DONE]);
    await made.start();
    await made.start();
    expect(made.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["fine"]);
    expect(made.leftOut).toHaveLength(1);
    expect(made.leftOut[0]).toMatch(/^The tool ".*" of the server was left out: /);
    expect(made.leftOut[0]?.length).toBeLessThan(500);
  });

  test.each([null, 3, "tool", {}, { name: 5 }])("that lists %j: it is passed over", async (odd) => {
    const server = linkedServer([[odd, listed("fine")]]);
    expect(Object.keys(await mcpTools(await server.connect()))).toEqual(["fine"]);
  });

  test("with two tools of one name: the first counts", async () => {
    const server = linkedServer([[listed("a", { description: "first" }), listed("a", { description: "second" })]]);
    const made = assistant(await server.connect(), [DONE]);
    await made.start();
    expect(made.model.requests[0]?.tools).toMatchObject([{ name: "a", description: "first" }]);
    expect(made.leftOut).toHaveLength(1);
  });

  test("with a tool named like one of ours: ours runs", async () => {
    const server = linkedServer([[listed("__proto__"), listed("constructor"), listed("a b/ü")]]);
    const tools = await mcpTools(await server.connect());
    expect(Object.keys(tools).filter((name) => !/^[A-Za-z_][\w-]{0,63}$/.test(name))).toEqual([]);
    expect(Object.keys(tools)).toHaveLength(3);
    expect({}.constructor).toBe(Object);
    const made = assistant(await server.connect(), [call("__proto__", {}), DONE], allowed);
    expect((await made.start()).steps).toMatchObject([{ tool: "__proto__", output: "__proto__ ran" }]);
  });

  test("with 10,000 tools: an agent gets the first 1,000, or those it names", async () => {
    const all = Array.from({ length: 10_000 }, (_, index) => listed(`t${index}`));
    const server = linkedServer([all]);
    const client = await server.connect();
    const made = assistant(client, [DONE]);
    await made.start();
    expect(made.model.requests[0]?.tools).toHaveLength(1_000);
    expect(Object.keys(await mcpTools(client, { allow: ["t9999"] }))).toEqual(["t9999"]);
  });

  test("whose list never ends fails the attempt", async () => {
    const server = linkedServer(Array.from({ length: 200 }, (_, page) => [listed(`t${page}`)]));
    await expect(mcpTools(await server.connect())).rejects.toMatchObject({ code: "too-large" });
  });

  test("whose pattern would take for ever is not asked about it here", async () => {
    const schema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    const server = linkedServer([[listed("slow", { inputSchema: schema })]]);
    const made = assistant(await server.connect(), [call("slow", { a: `${"a".repeat(60)}!` }), DONE], allowed);
    expect((await made.start()).steps).toMatchObject([{ status: "succeeded" }]);
  });

  test("that answers with 100 MB: the step keeps what fits and says so", async () => {
    const server = linkedServer([[listed("big")]], () => text("x".repeat(100 * 1024 * 1024)));
    const made = assistant(await server.connect(), [call("big", {}), DONE], allowed);
    const [step] = (await made.start()).steps;
    expect(step).toMatchObject({ status: "succeeded" });
    expect(String(step?.output).length).toBeLessThan(600_000);
    expect(String(step?.output)).toContain("more characters");
    expect(JSON.stringify(made.model.requests[1]).length).toBeLessThan(100_000);
  }, 30_000);

  test("that answers with a huge image and with parts without end: told by what they are", async () => {
    const content = [
      { type: "image", data: "A".repeat(3_000_000), mimeType: "image/png" },
      ...Array(20_000).fill({ type: "text", text: "x" }),
    ];
    const server = linkedServer([[listed("big")]], () => ({ content }));
    const made = assistant(await server.connect(), [call("big", {}), DONE], allowed);
    const [step] = (await made.start()).steps;
    expect(step).toMatchObject({ status: "succeeded" });
    expect(step?.output).toMatch(/^\[image\/png, about 3 MB: too large to be kept\]/);
    expect(step?.output).toMatch(/\[19501 more parts were left out\]$/);
  });

  test("that never answers ends at the tool's time, and hears of it", async () => {
    let cancelled = false;
    const server = linkedServer([[listed("hang")]], (_name, _input, { signal }) => {
      signal.addEventListener("abort", () => {
        cancelled = true;
      });
      return new Promise(() => undefined);
    });
    const made = assistant(await server.connect(), [call("hang", {}), DONE], { ...allowed, timeoutMs: 100 });
    const ended = await made.start();
    expect(ended.steps).toMatchObject([{ status: "failed", error: { code: "timed-out" }, effect: "unknown" }]);
    await expect.poll(() => cancelled).toBe(true);
  });

  test("whose error holds a stack: the model reads the words, nobody the stack", async () => {
    const words = 'Row 7 is locked.\n    at Object.run (/srv/secret/db.js:7:1)\n  File "/srv/secret.py", line 3';
    const server = linkedServer([[listed("fail")]], () => ({ isError: true, ...text(words) }));
    const made = assistant(await server.connect(), [call("fail", {}), DONE], allowed);
    const ended = await made.start();
    expect(ended.steps).toMatchObject([{ status: "failed", error: { message: "Row 7 is locked." } }]);
    expect(JSON.stringify(ended)).not.toContain("secret");
  });

  test("whose protocol error holds a secret: only the app's log sees it", async () => {
    const server = linkedServer([[listed("fail")]], () => {
      throw new Error("password=hunter2 at /srv/app.js");
    });
    const made = assistant(await server.connect(), [call("fail", {}), DONE], allowed);
    const ended = await made.start();
    expect(ended.steps).toMatchObject([
      { status: "failed", error: { message: "The tool server refused the call (-32603)." } },
    ]);
    expect(JSON.stringify([ended, lastResults(made.model.requests[1])])).not.toContain("hunter2");
    expect(String((made.errors[0] as Error).cause)).toContain("hunter2");
  });

  test("[S20] with invisible text in its words: descriptions lose it always, results where the app says so", async () => {
    const server = linkedServer([[listed("read", { description: `Reads.${HIDDEN}` }), listed("pay")]], (name) =>
      name === "read" ? text(`A page.${HIDDEN}`) : text("paid"),
    );
    const client = await server.connect();
    const script = [call("read", {}), call("pay", {}), DONE];
    const plain = assistant(client, script, { readOnly: ["read"] });
    const asked = await plain.start();
    expect(plain.model.requests[0]?.tools[0]?.description).toBe("Reads.");
    expect(lastResults(plain.model.requests[1])).toEqual([`A page.${HIDDEN}`]);
    expect(asked.pending).toMatchObject([{ tool: "pay" }]);
    const stripped = assistant(client, script, { readOnly: ["read"] }, { results: { process: withoutInvisible } });
    const askedToo = await stripped.start();
    expect(lastResults(stripped.model.requests[1])).toEqual(["A page."]);
    expect(askedToo.pending).toMatchObject([{ tool: "pay" }]);
    expect(server.called.map(([name]) => name)).toEqual(["read", "read"]);
  });
});
