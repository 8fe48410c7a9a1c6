import { act, cleanup, render, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { StrictMode, Suspense } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { SWRConfig } from "swr";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { projectThread } from "../../../core/src/protocol/project.ts";
import type { FakeServer } from "../../../core/test/client/fake-server.ts";
import {
  askFor,
  createFakeServer,
  endRun,
  snapshotOf,
  startRun,
  startTurn,
  text,
} from "../../../core/test/client/fake-server.ts";
import type { UseToolRun, UseToolRunOptions } from "../../src/index.ts";
import { useToolRun } from "../../src/index.ts";

let errors: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  sessionStorage.clear();
  errors = vi.spyOn(console, "error");
});

afterEach(() => {
  cleanup();
  const calls = errors.mock.calls.filter((call: unknown[]) => !isOfSwr(call.join("")));
  errors.mockRestore();
  expect(calls).toEqual([]);
});

/** SWR looks for a window once, when it is loaded; React 18 then warns of it in the server render of a test. */
function isOfSwr(message: string): boolean {
  return message.includes("useLayoutEffect does nothing on the server") && message.includes("SWRConfig");
}

/** Strict, and with a cache of its own: what one test read, the next must not find. */
function Wrapper({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <StrictMode>
      <SWRConfig value={{ provider: () => new Map() }}>{children}</SWRConfig>
    </StrictMode>
  );
}

function Status(options: UseToolRunOptions): ReactNode {
  return <p>{useToolRun(options).connection.status}</p>;
}

function Page(options: UseToolRunOptions): ReactNode {
  const run = useToolRun(options);
  return <p>{`${run.title || "New chat"}: ${run.pending.length} pending`}</p>;
}

interface Gate {
  readonly opened: Promise<void>;
  isOpen: boolean;
  open(): void;
}

function gateThatIsShut(): Gate {
  let resolve: () => void;
  const opened = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    opened,
    isOpen: false,
    open() {
      this.isOpen = true;
      resolve();
    },
  };
}

/** Renders that meet a closed gate are thrown away. */
function Gated({ gate, ...options }: UseToolRunOptions & { readonly gate: Gate }): ReactNode {
  useToolRun({ ...options, headers: { authorization: gate.isOpen ? "kept" : "thrown away" } });
  if (!gate.isOpen) throw gate.opened;
  return null;
}

let endpoints = 0;

function show(server: FakeServer, options: UseToolRunOptions = {}) {
  const endpoint = `/api/${++endpoints}`;
  return renderHook((props: UseToolRunOptions) => useToolRun({ endpoint, fetch: server.fetch, ...props }), {
    wrapper: Wrapper,
    initialProps: options,
  });
}

function waitingServer(id = "t1"): FakeServer {
  const server = createFakeServer(id);
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: `Refund ${id}` }, startRun("r1"));
  server.append(startTurn("r1"), ...askFor("r1", ["c1"]));
  return server;
}

const paths = (server: FakeServer): string[] => server.requests.map(({ method, path }) => `${method} ${path}`);

function firstPending(run: UseToolRun) {
  const [step] = run.pending;
  if (!step) throw new Error("nothing is pending");
  return step;
}

test("[M-46] from the first message over an approval to the answer", async () => {
  const server = createFakeServer();
  const { result } = show(server);
  expect(result.current).toMatchObject({ status: "idle", loading: false, threadId: undefined, messages: [] });
  await act(() => result.current.send("Refund 1042"));
  await waitFor(() => expect(result.current.status).toBe("running"));
  const runId = result.current.runId ?? "";
  server.append(startTurn(runId), text(runId, "I would refund it."));
  server.append(...askFor(runId, ["c1"]));
  await waitFor(() => expect(result.current.pending).toHaveLength(1));
  expect(result.current).toMatchObject({ status: "waiting", connection: { status: "idle" } });
  await act(() => result.current.approve(firstPending(result.current)));
  await waitFor(() => expect(result.current.steps[0]?.status).toBe("queued"));
  server.append({ type: "call-started", runId, callId: "c1", attempt: 1, digest: "d-c1", key: "c1.0" });
  server.append({ type: "call-settled", runId, callId: "c1", attempt: 1, outcome: "succeeded", output: { ok: true } });
  server.append(endRun(runId, "Refunded."));
  await waitFor(() => expect(result.current.status).toBe("ended"));
  expect(result.current).toMatchObject({ text: "Refunded.", outcome: "completed", threadId: "t1", error: null });
  expect(result.current.steps).toMatchObject([{ status: "succeeded", output: { ok: true } }]);
});

test("[M-46] StrictMode mounts twice and still reads a running thread once, over one stream", async () => {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
  const { result, unmount } = show(server, { threadId: "t1" });
  expect(result.current.loading).toBe(true);
  await waitFor(() => expect(result.current.connection.status).toBe("live"));
  expect(paths(server)).toEqual(["GET /t1", "GET /t1/events?after=3"]);
  expect(server.openStreams).toBe(1);
  unmount();
  await waitFor(() => expect(server.openStreams).toBe(0));
});

test("[M-46] actions are the same functions from render to render", async () => {
  const server = waitingServer();
  const { result } = show(server, { threadId: "t1" });
  const { approve, deny, send, stop, reset, refresh } = result.current;
  await waitFor(() => expect(result.current.pending).toHaveLength(1));
  expect(result.current).toMatchObject({ approve, deny, send, stop, reset, refresh });
});

test("a reload finds the thread of this tab, and a removed one is forgotten", async () => {
  const server = createFakeServer();
  const endpoint = `/api/${++endpoints}`;
  const hook = () => useToolRun({ endpoint, fetch: server.fetch });
  const before = renderHook(hook, { wrapper: Wrapper });
  await act(() => before.result.current.send("Hello"));
  await waitFor(() => expect(before.result.current.threadId).toBe("t1"));
  before.unmount();
  const after = renderHook(hook, { wrapper: Wrapper });
  await waitFor(() => expect(after.result.current.messages).toHaveLength(1));
  expect(after.result.current.threadId).toBe("t1");
  await act(() => after.result.current.remove());
  await waitFor(() => expect(after.result.current.threadId).toBeUndefined());
  expect(after.result.current).toMatchObject({ status: "idle", messages: [], connection: { status: "idle" } });
});

test("with onThread the app keeps the id, and taking it over changes no client", async () => {
  const server = createFakeServer();
  const onThread = vi.fn();
  const { result, rerender } = show(server, { onThread });
  const { send } = result.current;
  await act(() => send("Hello"));
  await waitFor(() => expect(result.current.status).toBe("running"));
  expect(onThread).toHaveBeenCalledExactlyOnceWith("t1");
  expect(sessionStorage).toHaveLength(0);
  rerender({ onThread, threadId: "t1" });
  expect(result.current.send).toBe(send);
  rerender({ onThread });
  expect(result.current).toMatchObject({ threadId: undefined, messages: [] });
  await waitFor(() => expect(server.openStreams).toBe(0));
});

test("another thread id shows another thread; nothing of the first arrives late", async () => {
  const [one, two] = [createFakeServer("t1"), waitingServer("t2")];
  one.append(
    { type: "thread-created", owner: "u1", agent: "shop", title: "Refund t1" },
    startRun("r1"),
    startTurn("r1"),
  );
  const fetch: typeof globalThis.fetch = (input, init) => (String(input).includes("t1") ? one : two).fetch(input, init);
  const { result, rerender } = show(one, { threadId: "t1", fetch });
  await waitFor(() => expect(result.current.connection.status).toBe("live"));
  rerender({ threadId: "t2", fetch });
  expect(result.current).toMatchObject({ threadId: "t2", loading: true, messages: [] });
  one.append(text("r1", "late"));
  await waitFor(() => expect(result.current.title).toBe("Refund t2"));
  expect(JSON.stringify(result.current.messages)).not.toContain("late");
  await waitFor(() => expect(one.openStreams).toBe(0));
});

test("reset leaves the thread and starts a fresh one", async () => {
  const server = waitingServer();
  const { result } = show(server, { initial: projectThread(server.thread) });
  expect(result.current.pending).toHaveLength(1);
  act(() => result.current.reset());
  expect(result.current).toMatchObject({ threadId: undefined, pending: [], status: "idle" });
});

test("two components of a page share one client and one stream", async () => {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "t" }, startRun("r1"), startTurn("r1"));
  const endpoint = `/api/${++endpoints}`;
  const options = { endpoint, fetch: server.fetch, threadId: "t1" };
  render(
    <Wrapper>
      <Status {...options} />
      <Status {...options} />
    </Wrapper>,
  );
  await waitFor(() => expect(screen.getAllByText("live")).toHaveLength(2));
  expect(server.openStreams).toBe(1);
});

test("headers that change are the ones of the next request", async () => {
  const server = waitingServer();
  const fetch = vi.fn(server.fetch);
  const { result, rerender } = show(server, { threadId: "t1", fetch, headers: { authorization: "old" } });
  await waitFor(() => expect(result.current.loading).toBe(false));
  rerender({ threadId: "t1", fetch, headers: () => ({ authorization: "new" }) });
  await act(() => result.current.rename("x"));
  expect(fetch.mock.calls.at(0)?.[1]?.headers).toMatchObject({ authorization: "old" });
  const post = fetch.mock.calls.find(([, init]) => init?.method === "POST");
  expect(post?.[1]?.headers).toMatchObject({ authorization: "new" });
});

test("what a render that was thrown away said of the headers is forgotten", async () => {
  const server = waitingServer();
  const fetch = vi.fn(server.fetch);
  const endpoint = `/api/${++endpoints}`;
  const gate = gateThatIsShut();
  render(
    <Wrapper>
      <Suspense>
        <Gated gate={gate} endpoint={endpoint} threadId="t1" fetch={fetch} />
      </Suspense>
    </Wrapper>,
  );
  await act(async () => gate.open());
  await waitFor(() => expect(fetch).toHaveBeenCalled());
  expect(fetch.mock.calls.map(([, init]) => init?.headers)).not.toContainEqual(
    expect.objectContaining({ authorization: "thrown away" }),
  );
});

test("a waiting thread that is decided elsewhere is noticed by polling", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const server = waitingServer();
  const { result } = show(server, { threadId: "t1" });
  await waitFor(() => expect(result.current.pending).toHaveLength(1));
  server.append({
    ...{ type: "decision-recorded", runId: "r1", callId: "c1", action: "approve", digest: "d-c1", via: "browser" },
    ...{ by: { id: "u2" }, key: "k", bodyHash: "h" },
  });
  server.append({ type: "run-resumed", runId: "r1", why: "decision", driverId: "d" });
  await act(() => vi.advanceTimersByTimeAsync(6_000));
  await waitFor(() => expect(result.current.connection.status).toBe("live"));
  expect(result.current.pending).toEqual([]);
  vi.useRealTimers();
});

test("a server render shows the initial thread and hydrates without a mismatch, stored thread or not", async () => {
  const server = waitingServer();
  const endpoint = `/api/${++endpoints}`;
  sessionStorage.setItem(`toolrun ${endpoint} `, "t1");
  const initial = projectThread(server.thread);
  for (const [given, before] of [
    [initial, "Refund t1: 1 pending"],
    [undefined, "New chat: 0 pending"],
  ] as const) {
    const page = (
      <Wrapper>
        <Page endpoint={endpoint} fetch={server.fetch} initial={given} />
      </Wrapper>
    );
    const container = document.body.appendChild(document.createElement("div"));
    vi.stubGlobal("window", undefined);
    container.innerHTML = renderToString(page);
    vi.unstubAllGlobals();
    expect(container.textContent).toBe(before);
    const onRecoverableError = vi.fn();
    const root = await act(async () => hydrateRoot(container, page, { onRecoverableError }));
    await waitFor(() => expect(container.textContent).toBe("Refund t1: 1 pending"));
    expect(onRecoverableError).not.toHaveBeenCalled();
    act(() => root.unmount());
    container.remove();
  }
});

test("access and clock come with the body of GET", async () => {
  const server = waitingServer();
  const body = { ...snapshotOf(server.thread), access: { send: true, decide: false, remove: false } };
  server.fault = ({ path }) => (path === "/t1" ? Response.json({ ...body, now: Date.now() + 60_000 }) : undefined);
  const { result } = show(server, { threadId: "t1" });
  await waitFor(() => expect(result.current.access.decide).toBe(false));
  expect(result.current.clockOffsetMs).toBeGreaterThan(59_000);
});
