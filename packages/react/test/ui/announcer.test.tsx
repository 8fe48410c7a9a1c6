import { act, render } from "@testing-library/react";
import type { AnyStep } from "toolrun";
import { expect, test } from "vitest";
import { Announcer } from "../../src/chat/announcer.tsx";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import { accepting, at, calmClock, messageOf, runOf, saidOf, settle, stepOf, waitingOf } from "./fixtures.tsx";

calmClock();
const asked = waitingOf({ id: "one" });
const running = (...parts: readonly (AnyStep | string)[]): ChatRun =>
  runOf([saidOf("Hello"), messageOf(...parts)], { status: "running", outcome: undefined });
const decided = (action: "approve" | "deny", by: { id: string; name?: string }) =>
  ({ kind: "approval", action, by, via: "browser", at, digest: "" }) as const;

/** Renders the states one after the other and returns everything a screen reader would have been told. */
async function heard(...states: readonly ChatRun[]): Promise<readonly string[]> {
  const said: string[] = [];
  const { container, rerender } = render(<Announcer run={states[0] ?? runOf([])} />);
  const observer = new MutationObserver((records) => {
    for (const { addedNodes, target } of records) {
      for (const node of addedNodes) said.push(`${roleOf(target)}: ${node.textContent}`);
    }
  });
  observer.observe(container, { childList: true, subtree: true });
  for (const state of states.slice(1)) {
    rerender(<Announcer run={state} />);
    await act(async () => settle(1_600));
  }
  await act(async () => settle(5_000));
  expect(container.textContent).toBe("");
  return said;
}
const roleOf = (node: Node): string => (node instanceof Element ? (node.getAttribute("role") ?? "") : "");

test("tokens, progress and clocks are never spoken; the answer is, once", async () => {
  const words = Array.from({ length: 30 }, (_, index) => running("word ".repeat(index + 1)));
  const step = stepOf({ id: "one", status: "running", progress: { value: 1, max: 3 } });
  const end = { ...runOf([saidOf("Hello"), messageOf("Done.")]), text: "Done." };
  const said = await heard(
    runOf([], { status: "idle", runId: undefined }),
    runOf([saidOf("Hello")], { status: "running", outcome: undefined }),
    ...words,
    running(step),
    running({ ...step, progress: { value: 2, max: 3 }, log: ["a"] }),
    end,
    { ...end },
  );
  expect(said).toEqual(["status: Assistant replied: Done."]);
});

test("an answer is spoken without the signs of Markdown", async () => {
  const text = "# Done\n\n**Paid** `49.90` to [Mia](https://shop.example/mia), see snake_case and 3 * 4.";
  const end = { ...runOf([saidOf("Hello"), messageOf(text)]), text };
  expect(await heard(running("Do"), end)).toEqual([
    "status: Assistant replied: Done\n\nPaid 49.90 to Mia, see snake_case and 3 * 4.",
  ]);
});

test("one approval is an alert with its name, a batch is one alert", async () => {
  expect(await heard(running("Hm"), running("Hm", asked))).toEqual(["alert: Approval needed: Refund order."]);
  const batch = ["a", "b", "c"].map((id) => waitingOf({ id }));
  expect(await heard(running("Hm"), running("Hm", ...batch))).toEqual([
    "alert: 3 approvals needed. Press F8 to review.",
  ]);
});

test("one's own decision is confirmed politely, somebody else's interrupts", async () => {
  const mine = stepOf({ id: "one", status: "queued", decision: decided("approve", { id: "me" }) });
  expect(await heard(running({ ...asked, sending: true }), running(mine))).toEqual(["status: Refund order approved."]);
  const denied = decided("deny", { id: "dana", name: "Dana" });
  const theirs = stepOf({ id: "one", status: "not-run", reason: "denied", decision: denied });
  expect(await heard(running(asked), running(theirs))).toEqual(["alert: Refund order denied by Dana."]);
});

test("a step that failed and an approval that expired interrupt", async () => {
  const failed = stepOf({ id: "one", status: "failed", error: { code: "tool-error", message: "HTTP 500." } });
  expect(await heard(running(stepOf({ id: "one", status: "running" })), running(failed))).toEqual([
    "alert: Refund order failed: HTTP 500.",
  ]);
  const expire = { kind: "approval", action: "expire", via: "clock", at, digest: "" } as const;
  const expired = stepOf({ id: "one", status: "not-run", reason: "expired", decision: expire });
  expect(await heard(running(asked), running(expired))).toEqual(["alert: Approval expired. Refund order was not run."]);
});

test("a question is read out, a browser's work is not, and a second question of a step is", async () => {
  const ask = { kind: "question", digest: "digest-1", askedAt: at, prompt: "Which account?" } as const;
  const question = stepOf({ id: "one", status: "waiting", ask });
  expect(await heard(running("Hm"), running(question))).toEqual(["alert: Needs you: Which account?"]);
  const again = { ...question, ask: { ...ask, askedAt: at + 1, prompt: "And her city?" } };
  expect(await heard(running(question), running(again))).toEqual(["alert: Needs you: And her city?"]);
  const browser = stepOf({ id: "one", status: "waiting", ask: { ...ask, kind: "browser" } });
  expect(await heard(running("Hm"), running(browser))).toEqual([]);
});

test("a limit interrupts, and the last answer follows", async () => {
  const end = runOf([saidOf("Hello"), messageOf("Enough.")], { outcome: "limited", limit: "turns", text: "Enough." });
  expect(await heard(running("Hm"), end)).toEqual([
    "alert: The limit of rounds was reached.",
    "status: Assistant replied: Enough.",
  ]);
});

test("a conversation that is only loaded says at most that approvals wait", async () => {
  const loading = runOf([], { loading: true, threadId: undefined });
  const history = runOf([saidOf("Hello"), messageOf(stepOf({ status: "failed" }), "Done.")], { text: "Done." });
  expect(await heard(loading, history)).toEqual([]);
  expect(await heard(loading, running(asked))).toEqual(["status: Restored. 1 step needs you."]);
});

test("a connection is spoken of when it was lost for three seconds, and when it is back", async () => {
  const lost = { ...running("Hm"), connection: { status: "reconnecting" } } as const;
  expect(await heard(running("Hm"), lost, running("Hm"))).toEqual([]);
  expect(await heard(running("Hm"), lost, lost, lost, running("Hm"))).toEqual([
    "status: Connection lost, reconnecting.",
    "status: Reconnected.",
  ]);
});

test("a minute before the end is said, ten seconds before it interrupts, and more time is confirmed", async () => {
  const until = (expiresAt: number): ChatRun =>
    running("Hm", waitingOf({ id: "one" }, { expiresAt, extendMs: 600_000 }));
  expect(await heard(until(Date.now() + 64_000))).toEqual(["status: Refund order expires in 1 min."]);
  expect(await heard(until(Date.now() + 14_000))).toEqual(["alert: Refund order expires in 10 s."]);
  expect(await heard(until(Date.now() + 100_000_000), until(Date.now() + 2 ** 32))).toEqual([
    "status: Refund order: waits 10 min from now.",
  ]);
});

test("what a browser does is not warned of", async () => {
  const ask = { kind: "browser", digest: "", askedAt: at, expiresAt: at + 64_000 } as const;
  expect(await heard(running("Hm", stepOf({ id: "one", status: "waiting", ask })))).toEqual([]);
});

test("when a question has run out, the chat looks at once", async () => {
  const refresh = accepting();
  const asking = waitingOf({ id: "one" }, { expiresAt: Date.now() + 3_000 });
  const run = { ...running("Hm", asking), refresh } as const;
  render(<Announcer run={run} />);
  await act(async () => settle(2_900));
  expect(refresh).not.toHaveBeenCalled();
  await act(async () => settle(500));
  expect(refresh).toHaveBeenCalledTimes(1);
});
