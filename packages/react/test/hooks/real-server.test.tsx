import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { StrictMode } from "react";
import { SWRConfig } from "swr";
import { createToolRun, defineAgent, ModelError, memoryStore, tool } from "toolrun/server";
import type { ScriptEntry, ScriptedModel } from "toolrun/testing";
import { call, calls, delay, fail, say, scriptedModel } from "toolrun/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { UseToolRun } from "../../src/index.ts";
import { useThreads, useToolRun } from "../../src/index.ts";

beforeEach(() => sessionStorage.clear());
afterEach(cleanup);

const findOrder = tool({
  description: "Find one order.",
  inputSchema: z.object({ orderId: z.string() }),
  readOnly: true,
  execute: async ({ orderId }) => ({ orderId, total: 49.9 }),
});

function shop(script: readonly ScriptEntry[], turns = 10) {
  const refunds: unknown[] = [];
  const refundOrder = tool({
    title: "Refund order",
    description: "Refund an order.",
    inputSchema: z.object({ orderId: z.string(), amount: z.number().positive() }),
    approval: { ask: { editable: true, scopes: ["once", "run"] } },
    async execute(input, { progress, log }) {
      progress({ value: 1, max: 2, label: "Refunding" });
      log("sent to the bank");
      refunds.push(input);
      return { refunded: input.amount };
    },
  });
  const model: ScriptedModel = scriptedModel(script);
  const agent = defineAgent({ model, tools: { findOrder, refundOrder }, limits: { turns } });
  const handler = createToolRun({ agent, store: memoryStore(), onError: () => {} });
  const paths: string[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(new URL(String(input), "http://shop.test"), init);
    paths.push(`${request.method} ${new URL(request.url).pathname.split("/threads")[1]}`);
    return handler[request.method as "GET" | "POST" | "DELETE"](request); // the client uses no other
  };
  return { agent, model, refunds, handler, fetch, paths };
}

function Wrapper({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <StrictMode>
      <SWRConfig value={{ provider: () => new Map() }}>{children}</SWRConfig>
    </StrictMode>
  );
}

let endpoints = 0;

function show<Shop extends ReturnType<typeof shop>>({ fetch }: Shop, threadId?: string) {
  const endpoint = `/api/real/${++endpoints}`;
  return renderHook(() => useToolRun<Shop["agent"]>({ endpoint, fetch, threadId }), { wrapper: Wrapper });
}

type Run = UseToolRun<ReturnType<typeof shop>["agent"]>;

async function pendingOf(result: { readonly current: Run }, count = 1): Promise<Run["pending"]> {
  await waitFor(() => expect(result.current.pending).toHaveLength(count));
  return result.current.pending;
}

const refund = call("refundOrder", { orderId: "1042", amount: 49.9 });

test("approve: the tool runs once, with progress, and the assistant answers", async () => {
  const shopServer = shop([refund, say("Refunded.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund order 1042"));
  const [step] = await pendingOf(result);
  if (!step) throw new Error("nothing is pending");
  expect(step).toMatchObject({ title: "Refund order", input: { orderId: "1042", amount: 49.9 }, sending: false });
  const presses = await act(() => Promise.all(Array.from({ length: 20 }, () => result.current.approve(step))));
  expect(presses.every(({ ok }) => ok)).toBe(true);
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(result.current).toMatchObject({ outcome: "completed", text: "Refunded.", error: null, pending: [] });
  expect(result.current.steps).toMatchObject([
    { status: "succeeded", output: { refunded: 49.9 }, log: ["sent to the bank"], decision: { action: "approve" } },
  ]);
  expect(shopServer.refunds).toEqual([{ orderId: "1042", amount: 49.9 }]);
  expect(shopServer.paths.filter((path) => path.endsWith("/decisions"))).toHaveLength(1);
  await waitFor(() => expect(result.current.connection.status).toBe("idle"));
});

test("edit, then approve: what was edited is what runs; a wrong edit says where", async () => {
  const shopServer = shop([refund, say("Refunded a part.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund order 1042"));
  const [step] = await pendingOf(result);
  if (step?.tool !== "refundOrder" || step.status !== "waiting") throw new Error("not the refund");
  const wrong = await act(() => result.current.approve(step, { input: { orderId: "1042", amount: -1 } }));
  expect(wrong).toMatchObject({ ok: false, code: "invalid-input", issues: [{ path: ["amount"] }] });
  expect(result.current.pending).toHaveLength(1);
  expect(await act(() => result.current.approve(step, { input: { orderId: "1042", amount: 20 } }))).toEqual({
    ok: true,
  });
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(shopServer.refunds).toEqual([{ orderId: "1042", amount: 20 }]);
  expect(result.current.steps[0]?.decision?.originalInput).toEqual({ orderId: "1042", amount: 49.9 });
});

test("deny with a reason: nothing runs, and the model is told", async () => {
  const shopServer = shop([refund, say("I did not refund it.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund order 1042"));
  const [step] = await pendingOf(result);
  if (!step) throw new Error("nothing is pending");
  await act(() => result.current.deny(step, "wrong order"));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(result.current.steps).toMatchObject([{ status: "not-run", reason: "denied" }]);
  expect(shopServer.refunds).toEqual([]);
  expect(JSON.stringify(shopServer.model.requests.at(-1)?.messages)).toContain("wrong order");
});

test("two tabs: the second follows, and the loser of a race sees the real state", async () => {
  const shopServer = shop([refund, say("Not refunded.")]);
  const one = show(shopServer);
  await act(() => one.result.current.send("Refund order 1042"));
  await pendingOf(one.result);
  const two = show(shopServer, one.result.current.threadId);
  const [step] = await pendingOf(two.result);
  if (!step) throw new Error("nothing is pending");
  await act(() => one.result.current.deny(step, "mine"));
  const lost = await act(() => two.result.current.approve(step));
  expect(lost).toMatchObject({ ok: false, code: "decided" });
  await waitFor(() => expect(two.result.current.steps[0]).toMatchObject({ status: "not-run", sending: false }));
  await waitFor(() => expect(two.result.current.status).toBe("ended"));
  expect(two.result.current.messages).toEqual(one.result.current.messages);
  expect(shopServer.refunds).toEqual([]);
});

test("several approvals in one press", async () => {
  const shopServer = shop([calls(refund, call("refundOrder", { orderId: "1043", amount: 5 })), say("Both.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund both"));
  const steps = await pendingOf(result, 2);
  expect(await act(() => result.current.approve(steps))).toEqual({ ok: true });
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(shopServer.refunds).toHaveLength(2);
});

test("a message while approvals are open is queued, and shown as queued", async () => {
  const shopServer = shop([refund, say("Refunded, and the other thing too.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund order 1042"));
  await pendingOf(result);
  await act(() => result.current.send("And tell Mia"));
  await waitFor(() => expect(result.current.queued).toMatchObject([{ parts: [{ text: "And tell Mia" }] }]));
  await waitFor(() => expect(result.current.queued[0]?.sending).toBeUndefined());
  await act(() => result.current.approve(result.current.pending));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(result.current.queued).toEqual([]);
});

test("stop ends the run on the server", async () => {
  const shopServer = shop([[{ type: "text", text: "Thinking " }, delay(60_000), { type: "text", text: "late" }]]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(JSON.stringify(result.current.messages)).toContain("Thinking"));
  expect(await act(() => result.current.stop())).toEqual({ ok: true });
  await waitFor(() => expect(result.current).toMatchObject({ status: "ended", outcome: "stopped" }));
});

test("a run that ended at a limit can be continued", async () => {
  const shopServer = shop([say("I got this far."), say("All done.")], 1);
  const { result } = show(shopServer);
  await act(() => result.current.send("Look it up"));
  await waitFor(() => expect(result.current).toMatchObject({ status: "ended", outcome: "limited", limit: "turns" }));
  expect(await act(() => result.current.continue({ turns: 5 }))).toEqual({ ok: true });
  await waitFor(() => expect(result.current).toMatchObject({ status: "ended", text: "All done." }));
});

test("an approval for the whole run is a grant, and a revoked one is gone", async () => {
  const again = call("refundOrder", { orderId: "1042", amount: 49.9 });
  const shopServer = shop([refund, [...[again].flat(), delay(2_000)], say("Twice.")]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Refund order 1042"));
  await pendingOf(result);
  await act(() => result.current.approve(result.current.pending, { scope: "run" }));
  await waitFor(() => expect(result.current.grants).toHaveLength(1));
  expect(await act(() => result.current.revoke(result.current.grants[0]?.grantId ?? ""))).toEqual({ ok: true });
  await waitFor(() => expect(result.current.grants).toEqual([]));
});

test("a model that fails ends the run with a notice, not the page", async () => {
  const shopServer = shop([fail(new ModelError("No such model.", { retryable: false }))]);
  const { result } = show(shopServer);
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current).toMatchObject({ status: "ended", outcome: "failed" }));
  expect(result.current.messages.at(-1)?.parts).toMatchObject([{ type: "notice", outcome: "failed" }]);
});

test("the list follows: a new thread, its waiting step, its title, its removal", async () => {
  const shopServer = shop([refund, say("Refunded.")]);
  const endpoint = `/api/real/${++endpoints}`;
  const { fetch } = shopServer;
  const { result } = renderHook(
    () => ({ run: useToolRun({ endpoint, fetch }), list: useThreads({ endpoint, fetch }) }),
    { wrapper: Wrapper },
  );
  await waitFor(() => expect(result.current.list.isLoading).toBe(false));
  await act(() => result.current.run.send("Refund order 1042"));
  await waitFor(() => expect(result.current.list.pending).toBe(1));
  await act(() => result.current.run.rename("Mia's refund"));
  await waitFor(() => expect(result.current.list.threads).toMatchObject([{ title: "Mia's refund" }]));
  await act(() => result.current.run.remove());
  await waitFor(() => expect(result.current.list.threads).toEqual([]));
  expect(result.current.run.threadId).toBeUndefined();
});

test("a server render's thread is shown at once", async () => {
  const shopServer = shop([refund, say("Refunded.")]);
  const user = { id: "dev" };
  const sent = await shopServer.handler.send({ user, message: "Refund order 1042" });
  await sent.settled();
  const read = await shopServer.handler.read({ user, threadId: sent.threadId });
  const initial = JSON.parse(JSON.stringify(read?.snapshot));
  const { fetch } = shopServer;
  const { result } = renderHook(() => useToolRun({ endpoint: "/api/ssr", fetch, initial }), { wrapper: Wrapper });
  expect(result.current).toMatchObject({ status: "waiting", loading: false, threadId: sent.threadId });
  expect(result.current.pending).toHaveLength(1);
});
