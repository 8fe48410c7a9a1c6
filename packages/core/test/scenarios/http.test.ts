import { describe, expect, it } from "vitest";
import { call, say } from "../../src/testing/scripted-model.ts";
import { agentRun } from "../loop/agent-run.ts";
import { BASE, clerk } from "../server/endpoint.ts";
import { errorOf } from "../server/shop.ts";
import { recorder, waiting } from "./play.ts";

const asked = async () => {
  const act = recorder("done", { readOnly: false });
  const run = agentRun({ script: [call("act", {}), say("Done.")], tools: { act: act.tool } });
  const step = waiting(await run.start());
  const decide = (decision: object, headers?: Record<string, string>) =>
    run.post(
      `/${step.threadId}/decisions`,
      { decisions: [{ callId: step.id, digest: step.digest, ...decision }], key: "k" },
      headers,
    );
  return { act, run, step, decide };
};
type Asked = Awaited<ReturnType<typeof asked>>;

describe("[M-45] what the endpoint answers", () => {
  it.each<[string, number, (made: Asked) => Promise<Response>]>([
    ["a body that is no JSON", 400, ({ run, step }) => run.post(`/${step.threadId}/decisions`, "{")],
    ["a decision that is none", 400, ({ decide }) => decide({ action: "maybe" })],
    ["nobody who is signed in", 401, ({ decide }) => decide({ action: "approve" }, { "x-user": "nobody" })],
    ["somebody else", 404, ({ decide }) => decide({ action: "approve" }, { "x-user": "mallory" })],
    ["another site", 403, ({ decide }) => decide({ action: "approve" }, { "sec-fetch-site": "cross-site" })],
    ["a form", 415, ({ decide }) => decide({ action: "approve" }, { "content-type": "text/plain" })],
    [
      "a body that is too large",
      413,
      ({ run, step }) => run.post(`/${step.threadId}/messages`, { message: { text: "x".repeat(3_000_000) }, key: "k" }),
    ],
    ["a conversation that is not there", 404, ({ run }) => run.get("/nothing")],
  ])("[M-45] %s: %i, and nothing runs", async (_title, status, request) => {
    const made = await asked();
    const error = await errorOf(await request(made));
    expect(error.status).toBe(status);
    expect(made.act.ran).toEqual([]);
    expect((await made.run.read({ user: clerk, threadId: made.step.threadId }))?.pending).toHaveLength(1);
  });

  it("[M-45] a stream is not held back on its way, and says where it is", async () => {
    const { run, step } = await asked();
    const response = await run.handle(new Request(`${BASE}/${step.threadId}/events?after=0`));
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("cache-control")).toContain("no-transform");
    expect(await response.text()).toMatch(/^:[^\n]*\n\n(?:[\s\S]*\n)?id: ?\d+\n/);
  });
});
