import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { StrictMode } from "react";
import { SWRConfig } from "swr";
import {
  agentTool,
  ask,
  browserTool,
  createToolRun,
  defineAgent,
  memoryStore,
  questionTool,
  tool,
} from "toolrun/server";
import type { ScriptEntry, ScriptedResult } from "toolrun/testing";
import { call, calls, say, scriptedModel } from "toolrun/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { UseToolRunOptions } from "../../src/index.ts";
import { useToolRun } from "../../src/index.ts";

beforeEach(() => sessionStorage.clear());
afterEach(cleanup);

const whereAmI = browserTool({
  description: "Where is the person?",
  readOnly: true,
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({ city: z.string() }).nullable(),
});
const isRaining = browserTool({
  description: "Does it rain?",
  readOnly: true,
  inputSchema: z.object({}),
  outputSchema: z.boolean(),
});
const askAge = questionTool({ description: "Ask for an age.", answerSchema: z.int().min(0) });
const connect = tool({
  description: "Read the account.",
  readOnly: true,
  inputSchema: z.object({}),
  async execute(_, { answer }) {
    return answer === undefined ? ask({ prompt: "Connect.", url: "/connect" }) : { connected: true };
  },
});

/** A server whose assistant does `turns` and then says what came of them, and the pages that look at it. */
function scene(...turns: readonly ScriptEntry[]) {
  const told: ScriptedResult[][] = [];
  const model = scriptedModel([
    ...turns,
    (results) => {
      told.push([...results]);
      return say("Done.");
    },
  ]);
  const guide = defineAgent({
    model: scriptedModel([call("whereAmI", { precise: true }), say("Kiel.")]),
    tools: { whereAmI },
  });
  const delegate = agentTool({ description: "Ask the guide.", agent: guide });
  const agent = defineAgent({ model, tools: { whereAmI, isRaining, askAge, connect, delegate } });
  const handler = createToolRun({ agent, store: memoryStore(), onError: () => {} });
  const posts: unknown[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(new URL(String(input), "http://app.test"), init);
    if (request.url.endsWith("/decisions")) posts.push(JSON.parse(String(init?.body)).decisions);
    return handler[request.method as "GET" | "POST" | "DELETE"](request); // the client uses no other
  };
  type Options = UseToolRunOptions<typeof agent>;
  const page = (tools?: Options["tools"]) =>
    renderHook(() => useToolRun<typeof agent>({ endpoint: "/api/real-browser", fetch, tools }), { wrapper: Wrapper });
  return { page, told, posts };
}

function Wrapper({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <StrictMode>
      <SWRConfig value={{ provider: () => new Map() }}>{children}</SWRConfig>
    </StrictMode>
  );
}

test("[M-23] [L17] two browser tools of one turn: one request, one continuation", async () => {
  const { page, told, posts } = scene(calls(call("whereAmI", { precise: false }), call("isRaining", {})));
  const { result } = page({
    whereAmI: async ({ precise }) => ({ city: precise ? "?" : "Kiel" }),
    isRaining: () => false,
  });
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(posts).toHaveLength(1);
  expect(told).toMatchObject([
    [
      { tool: "whereAmI", status: "succeeded", output: { city: "Kiel" } },
      { tool: "isRaining", status: "succeeded", output: false },
    ],
  ]);
});

test("[M07] [M08] nothing is null where the schema allows it, and an error where it does not: never a success", async () => {
  const { page, told } = scene(calls(call("whereAmI", { precise: true }), call("isRaining", {})));
  const nothing = (): never => undefined as never; // a handler that was only sketched
  const { result } = page({ whereAmI: nothing, isRaining: nothing });
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(told).toMatchObject([
    [
      { status: "succeeded", output: null },
      { status: "failed", error: expect.stringContaining("This answer does not fit the question.") },
    ],
  ]);
});

test("[L10] what a browser tool throws reaches the model, and the run goes on", async () => {
  const { page, told } = scene(call("whereAmI", { precise: true }));
  const { result } = page({ whereAmI: () => Promise.reject(new Error("No permission.")) });
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(result.current.steps).toMatchObject([{ status: "failed", error: { message: "No permission." } }]);
  expect(told).toMatchObject([[{ status: "failed", error: expect.stringContaining("No permission.") }]]);
});

test("a browser tool of a sub-agent runs in the same page", async () => {
  const { page, told } = scene(call("delegate", { prompt: "Where?" }));
  const { result } = page({ whereAmI: () => ({ city: "Kiel" }) });
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(told).toMatchObject([[{ tool: "delegate", status: "succeeded", output: "Kiel." }]]);
  expect(result.current.steps[0]?.children).toMatchObject([{ tool: "whereAmI", output: { city: "Kiel" } }]);
});

test("a browser tool that no page does waits, and can be skipped", async () => {
  const { page, told } = scene(call("whereAmI", { precise: true }));
  const { result } = page();
  await act(() => result.current.send("Go"));
  await waitFor(() => expect(result.current.pending).toHaveLength(1));
  const [step] = result.current.pending;
  if (step?.status !== "waiting") throw new Error("nothing waits");
  expect(result.current.browserSteps).toEqual({});
  expect(await act(() => result.current.skip(step))).toEqual({ ok: true });
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(told).toMatchObject([[{ status: "not-run", reason: "skipped" }]]);
});

test("[M07] a question takes 0, refuses what does not fit and still waits; a link takes Done", async () => {
  const { page, told } = scene(call("askAge", { question: "How old?" }), call("connect", {}));
  const { result } = page();
  await act(() => result.current.send("Go"));
  await waitFor(() =>
    expect(result.current.pending).toMatchObject([{ ask: { kind: "question", prompt: "How old?" } }]),
  );
  const [question] = result.current.pending;
  if (question?.status !== "waiting") throw new Error("nothing waits");
  const refused = await act(() => result.current.answer(question, { value: -1 }));
  expect(refused).toMatchObject({ ok: false, code: "invalid-input", issues: [{ path: [] }] });
  expect(result.current.pending).toHaveLength(1);
  expect(await act(() => result.current.answer(question, { value: 0 }))).toEqual({ ok: true });
  await waitFor(() => expect(result.current.pending).toMatchObject([{ ask: { kind: "link", url: "/connect" } }]));
  const [link] = result.current.pending;
  if (link?.status !== "waiting") throw new Error("nothing waits");
  expect(await act(() => result.current.answer(link, { value: null }))).toEqual({ ok: true });
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(told).toMatchObject([[{ output: 0 }, { output: { connected: true } }]]);
});
