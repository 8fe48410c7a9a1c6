import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mcpTools } from "../../../src/mcp.ts";
import { call, say } from "../../../src/testing/scripted-model.ts";
import { lastResults } from "../../loop/agent-run.ts";
import { assistant, clerk } from "./assistant.ts";
import type { McpServerProcess } from "./mcp-servers.ts";
import { everything } from "./mcp-servers.ts";

const DONE = say("Done.");

describe.each(["stdio", "http"] as const)("server-everything over %s", (wire) => {
  let server: McpServerProcess;
  beforeAll(async () => {
    server = await everything(wire);
  }, 30_000);
  afterAll(() => server?.close());

  test("its tools are offered under names that every provider takes", async () => {
    const client = await server.connect();
    const tools = Object.keys(await mcpTools(client, { prefix: "every", onError: () => undefined }));
    expect(tools).toContain("every_echo");
    expect(tools).toContain("every_trigger-elicitation-request");
    expect(tools.filter((name) => !/^[A-Za-z_][\w-]{0,63}$/.test(name))).toEqual([]);
    expect(tools.length).toBeGreaterThan(10);
  });

  test("a call asks, runs what was approved, and the model reads its result", async () => {
    const client = await server.connect();
    const made = assistant(client, [call("get-sum", { a: 2, b: 3 }), DONE]);
    const waiting = await made.start();
    expect(waiting.pending).toMatchObject([{ tool: "get-sum", input: { a: 2, b: 3 }, ask: { kind: "approval" } }]);
    const ended = await made.approve(waiting, { a: 20, b: 3 });
    expect(ended.steps).toMatchObject([{ status: "succeeded", output: "The sum of 20 and 3 is 23." }]);
    expect(JSON.stringify(made.model.requests[1])).toContain("is 23.");
  });

  test("an input that does not fit the server's schema is refused before anybody is asked", async () => {
    const client = await server.connect();
    const made = assistant(client, [call("get-sum", { a: "two", b: 3 }), DONE]);
    expect((await made.start()).steps).toMatchObject([{ status: "failed", error: { code: "invalid-input" } }]);
  });

  test("a readOnlyHint alone never lets a call run; our own word does", async () => {
    const client = await server.connect();
    const hinted = await assistant(client, [call("echo", { message: "hi" }), DONE]).start();
    expect(hinted.pending).toHaveLength(1);
    const vouched = await assistant(client, [call("echo", { message: "hi" }), DONE], { readOnly: ["echo"] }).start();
    expect(vouched.steps).toMatchObject([{ status: "succeeded", output: "Echo: hi" }]);
  });

  test("progress becomes the step's progress", async () => {
    const client = await server.connect();
    const name = "trigger-long-running-operation";
    const made = assistant(client, [call(name, { duration: 0.4, steps: 2 }), DONE], { readOnly: [name] });
    const ended = await made.start();
    // The SDK drops a last progress that arrives together with the result.
    expect(ended.steps).toMatchObject([{ status: "succeeded", progress: { value: expect.any(Number), max: 2 } }]);
  });

  test("a stop reaches the server, and the step says that it may have had an effect", async () => {
    const client = await server.connect();
    const name = "trigger-long-running-operation";
    const made = assistant(client, [call(name, { duration: 60, steps: 600 }), DONE], { approval: "allow" });
    await made.begin();
    await expect
      .poll(async () => (await made.read()).steps[0]?.progress?.value, { timeout: 10_000 })
      .toBeGreaterThan(0);
    const stopped = await (await made.toolrun.stop({ user: clerk, threadId: made.threadId })).settled();
    expect(stopped).toMatchObject({ outcome: "stopped", steps: [{ status: "failed", error: { code: "stopped" } }] });
    // A server that went on would still be sending its progress, and would take this call later.
    const again = assistant(client, [call("echo", { message: "still there" }), DONE], { readOnly: ["echo"] });
    expect((await again.start()).steps).toMatchObject([{ output: "Echo: still there" }]);
  });

  test("structured content is the output, and the model reads it", async () => {
    const client = await server.connect();
    const name = "get-structured-content";
    const made = assistant(client, [call(name, { location: "Chicago" }), DONE], { readOnly: [name] });
    const ended = await made.start();
    expect(ended.steps).toMatchObject([
      { status: "succeeded", output: { temperature: 36, conditions: "Light rain / drizzle" } },
    ]);
    expect(lastResults(made.model.requests[1])).toMatchObject([{ temperature: 36 }]);
  });

  test("an image is kept as a data URL, and the model is told what it is", async () => {
    const client = await server.connect();
    const made = assistant(client, [call("get-tiny-image", {}), DONE], { readOnly: ["get-tiny-image"] });
    const [step] = (await made.start()).steps;
    expect(step).toMatchObject({ status: "succeeded" });
    const file = { type: "file", mediaType: "image/png", url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) };
    expect(step?.output).toMatchObject({ parts: expect.arrayContaining([expect.objectContaining(file)]) });
    expect(JSON.stringify(made.model.requests[1])).toContain("[image/png, about ");
    expect(JSON.stringify(made.model.requests[1])).not.toContain("iVBOR");
  });

  test("resources and links to them come through", async () => {
    const client = await server.connect();
    const script = [
      call("get-resource-reference", { resourceType: "Text", resourceId: 1 }),
      call("get-resource-links", { count: 2 }),
      DONE,
    ];
    const made = assistant(client, script, { readOnly: ["get-resource-reference", "get-resource-links"] });
    const [reference, links] = (await made.start()).steps;
    expect(reference?.output).toMatchObject({
      parts: expect.arrayContaining([
        expect.objectContaining({ type: "text", name: expect.stringMatching(/^demo:\/\/resource/) }),
      ]),
    });
    expect(links?.output).toMatchObject({
      parts: expect.arrayContaining([
        expect.objectContaining({ type: "link", url: expect.stringMatching(/^demo:\/\/resource/) }),
      ]),
    });
  });

  test("a form the server asks for waits in the pending list, and its answer reaches the server", async () => {
    const client = await server.connect();
    const made = assistant(client, [call("trigger-elicitation-request", {}), DONE]);
    const asked = await made.approve(await made.start());
    expect(asked.pending).toMatchObject([
      {
        tool: "trigger-elicitation-request",
        ask: { kind: "question", prompt: "Please provide inputs for the following fields:" },
      },
    ]);
    const wrong = made.answer(asked, { name: "Ada", email: "nowhere" });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-input" });
    const ended = await made.answer(asked, { name: "Ada", email: "ada@example.com", integer: 7 });
    expect(ended.steps).toMatchObject([{ status: "succeeded", output: expect.stringContaining("- Name: Ada") }]);
    expect(ended.steps[0]?.output).toContain("- Favorite Integer: 7");
  });

  test("a page the server wants visited is a link, by request and by refusal", async () => {
    const client = await server.connect();
    const input = { url: "https://example.com/connect", message: "Connect your account.", errorPath: true };
    const made = assistant(client, [call("trigger-url-elicitation", input), DONE]);
    const first = await made.approve(await made.start());
    expect(first.pending).toMatchObject([{ ask: { kind: "link", url: "https://modelcontextprotocol.io" } }]);
    const second = await made.answer(first, null);
    expect(second.pending).toMatchObject([{ ask: { kind: "link", prompt: input.message, url: input.url } }]);
    const ended = await made.answer(second, null);
    expect(ended.steps[0]).toMatchObject({ status: "succeeded" });
    expect(ended.steps[0]?.output).toContain("User completed the URL elicitation flow");
  });
});
