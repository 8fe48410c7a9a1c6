import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, calls, say } from "../../../src/testing/scripted-model.ts";
import { lastResults } from "../../loop/agent-run.ts";
import { assistant } from "./assistant.ts";
import type { McpServerProcess } from "./mcp-servers.ts";
import { filesystem } from "./mcp-servers.ts";

const DONE = say("Done.");

describe.each(["stdio", "http"] as const)("server-filesystem over %s", (wire) => {
  let folder: string;
  let server: McpServerProcess;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolrun-mcp-"));
    await writeFile(join(folder, "a.txt"), "first line\n");
    server = await filesystem(wire, folder);
  }, 30_000);
  afterAll(async () => {
    await server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("reads at once what we vouch for, and writes only what was approved", async () => {
    const path = join(folder, "b.txt");
    const script = [
      call("fs_read_text_file", { path: join(folder, "a.txt") }),
      call("fs_write_file", { path, content: "approved" }),
      DONE,
    ];
    const made = assistant(await server.connect(), script, { prefix: "fs", readOnly: ["read_text_file"] });
    const waiting = await made.start();
    expect(waiting.steps).toMatchObject([{ status: "succeeded" }, { status: "waiting", tool: "fs_write_file" }]);
    expect(JSON.stringify(made.model.requests[1])).toContain("first line");
    await expect(readFile(path)).rejects.toThrow("ENOENT");
    expect((await made.approve(waiting)).steps[1]).toMatchObject({ status: "succeeded" });
    expect(await readFile(path, "utf8")).toBe("approved");
  });

  test("what its server says is destructive can be approved once only", async () => {
    const made = assistant(await server.connect(), [
      call("write_file", { path: join(folder, "c.txt"), content: "" }),
      DONE,
    ]);
    const [step] = (await made.start()).pending;
    expect(step).toMatchObject({ destructive: true });
    expect(step?.ask?.scopes ?? ["once"]).toEqual(["once"]);
  });

  test("what the server refuses is a failed call whose reason the model reads", async () => {
    const made = assistant(await server.connect(), [call("read_text_file", { path: "/etc/passwd" }), DONE], {
      readOnly: ["read_text_file"],
    });
    const ended = await made.start();
    expect(ended.steps).toMatchObject([{ status: "failed", error: { message: expect.stringContaining("denied") } }]);
    expect(JSON.stringify(lastResults(made.model.requests[1]))).toContain("Access denied");
  });

  test("only the tools that are allowed and not denied are offered", async () => {
    const allow = ["read_text_file", "list_directory", "no_such_tool"];
    const made = assistant(await server.connect(), [calls(DONE)], { allow, deny: ["list_directory"] });
    await made.start();
    expect(made.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["read_text_file"]);
    expect(made.leftOut).toEqual(['The server has no tool "no_such_tool".']);
  });
});
