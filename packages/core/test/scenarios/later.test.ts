import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { call, calls, say } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import { agentRun } from "../loop/agent-run.ts";
import { clerk } from "../server/endpoint.ts";
import { recorder, resultsIn, waiting } from "./play.ts";
import { balance, banking } from "./runs.ts";

const user = clerk;
describe("[M-24] a result that comes later", () => {
  it("[#34] the call waits, what it started was started once, the model is not asked", async () => {
    const { run, attempts } = banking();
    const thread = await run.start();
    expect(thread.status).toBe("waiting");
    expect([attempts.length, run.model.requests.length]).toEqual([1, 1]);
  });

  it("[#35] what cannot even be asked is an error result, and the run goes on", async () => {
    const { run } = banking({}, { execute: () => Promise.reject(new Error("bank unreachable")) });
    expect(await run.start()).toMatchObject({ outcome: "completed", pending: [] });
    expect(resultsIn(run.model.requests[1])).toEqual([{ output: "bank unreachable", isError: true }]);
  });

  it.each([
    ["[#36] case 1 of 2: nobody is there to answer: it waits", { readOnly: true }, "link", 1],
    ["[#36] case 2 of 2: not approved yet: it has not asked anybody", { readOnly: false }, "approval", 0],
  ])("%s", async (_title, more, kind, attempted) => {
    const { run, attempts } = banking({}, more);
    expect(waiting(await run.start()).ask?.kind).toBe(kind);
    expect([attempts.length, run.model.requests.length]).toEqual([attempted, 1]);
  });

  it("[#36 M-22] approved, it asks, and the answer completes it: two decisions of one call", async () => {
    const { run, attempts } = banking({}, { readOnly: false });
    const asked = await (await run.approve(waiting(await run.start()), { user })).settled();
    expect(waiting(asked)).toMatchObject({ ask: { kind: "link" }, earlier: [{ action: "approve" }] });
    const ended = await (await run.answer(waiting(asked), { user, value: null })).settled();
    expect([ended.outcome, attempts]).toEqual(["completed", [undefined, null]]);
  });

  it.each([
    ["[#37] case 1 of 2: an ordinary call beside it runs at once, and then the run waits", false],
    ["[#37] case 2 of 2: all that were to come later failed: the run goes on with every result", true],
  ])("%s", async (_title, fails) => {
    const n = recorder("kept");
    const late = fails ? balance({ execute: () => Promise.reject(new Error("unreachable")) }) : balance();
    const run = agentRun({
      script: [calls(call("late", {}), call("n", {})), say("Done.")],
      tools: { late: late.tool, n: n.tool },
    });
    const thread = await run.start();
    expect(n.ran).toHaveLength(1);
    expect(thread.status).toBe(fails ? "ended" : "waiting");
    expect(resultsIn(run.model.requests[1])).toEqual(
      fails
        ? [
            { output: "unreachable", isError: true },
            { output: "kept", isError: false },
          ]
        : [],
    );
  });

  it("[#75 M-16] case 4 of 4: another process answers, and the run goes on there", async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const first = banking({ clock, server: { store } });
    const step = waiting(await first.run.start());
    const second = banking({ clock, server: { store }, script: [say("Done elsewhere.")] });
    const ended = await (await second.run.answer(step, { user, value: "ok" })).settled();
    expect(ended).toMatchObject({ outcome: "completed", text: "Done elsewhere." });
    expect([first.attempts.length, second.attempts]).toEqual([1, ["ok"]]);
  });

  it.each<[string, { id?: string; threadId?: string }]>([
    ["[#75 M-18] case 1 of 4: an answer to another id", { id: "other" }],
    ["[#75 M-18] case 2 of 4: an answer in a conversation that is not there", { threadId: "other" }],
  ])("%s is refused, and it still waits", async (_title, other) => {
    const { run, attempts } = banking();
    const step = waiting(await run.start());
    await expect(run.answer({ ...step, ...other }, { user, value: null })).rejects.toMatchObject({ code: "not-found" });
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
    expect(attempts).toHaveLength(1);
  });

  it("[#75 M-18] case 3 of 4: no answer at all is refused, and it still waits", async () => {
    const { run, attempts } = banking();
    const step = waiting(await run.start());
    const decisions = [{ callId: step.id, digest: step.digest, action: "answer" }];
    const response = await run.post(`/${step.threadId}/decisions`, { decisions, key: "k" });
    expect(await response.text()).toMatch(/"code":"(bad-request|invalid-input)"/);
    expect((await run.read({ user, threadId: step.threadId }))?.pending).toHaveLength(1);
    expect(attempts).toHaveLength(1);
  });
});
