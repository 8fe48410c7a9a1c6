import { act, cleanup, render, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { StrictMode, useState } from "react";
import { SWRConfig } from "swr";
import type { AnyStep } from "toolrun";
import { afterEach, expect, test, vi } from "vitest";
import type { FakeServer } from "../../../core/test/client/fake-server.ts";
import { askBrowserFor, createFakeServer, startRun, startTurn } from "../../../core/test/client/fake-server.ts";
import type { UseToolRunOptions } from "../../src/index.ts";
import { useToolRun } from "../../src/index.ts";

afterEach(() => cleanup());

let endpoints = 0;

function Wrapper({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <StrictMode>
      <SWRConfig value={{ provider: () => new Map() }}>{children}</SWRConfig>
    </StrictMode>
  );
}

function waitingServer(callIds: readonly string[] = ["c1"]): FakeServer {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "Where" }, startRun("r1"));
  server.append(startTurn("r1"), ...askBrowserFor("r1", callIds));
  return server;
}

function show(server: FakeServer, given: UseToolRunOptions) {
  const endpoint = `/api/${++endpoints}`;
  const options = { endpoint, threadId: "t1", fetch: server.fetch };
  return renderHook((props: UseToolRunOptions) => useToolRun({ ...options, ...props }), {
    wrapper: Wrapper,
    initialProps: given,
  });
}

const posted = (server: FakeServer): unknown[] =>
  server.requests.filter(({ path }) => path === "/t1/decisions").map(({ body }) => body.decisions);

test("[P24] a browser tool runs once under StrictMode and whatever is rendered, and two calls ride one request", async () => {
  const server = waitingServer(["c1", "c2"]);
  let finish: (value: unknown) => void = () => {};
  const slow = new Promise((resolve) => {
    finish = resolve;
  });
  const ran: string[] = [];
  const tools = () => ({ pickLocation: (_: unknown, { step }: { step: AnyStep }) => ran.push(step.id) && slow });
  const { result, rerender } = show(server, { tools: tools() });
  await waitFor(() => expect(ran).toHaveLength(2));
  for (let time = 0; time < 20; time++) rerender({ tools: tools() });
  await waitFor(() => expect(result.current.browserSteps).toEqual({ c1: "here", c2: "here" }));
  await act(async () => finish({ latitude: 1 }));
  await waitFor(() => expect(result.current.pending).toEqual([]));
  expect(ran).toEqual(["c1", "c2"]);
  expect(posted(server)).toEqual([
    [expect.objectContaining({ callId: "c1" }), expect.objectContaining({ callId: "c2", value: { latitude: 1 } })],
  ]);
});

test("the function that runs is the one of the latest render", async () => {
  const server = createFakeServer();
  server.append({ type: "thread-created", owner: "u1", agent: "shop", title: "Where" }, startRun("r1"));
  server.append(startTurn("r1"));
  const { result, rerender } = show(server, { tools: { pickLocation: () => "first" } });
  await waitFor(() => expect(result.current.connection.status).toBe("live"));
  rerender({ tools: { pickLocation: () => "latest" } });
  server.append(...askBrowserFor("r1", ["c1"]));
  await waitFor(() => expect(posted(server)).toEqual([[expect.objectContaining({ value: "latest" })]]));
});

test("a page that gets the function later runs it then", async () => {
  const server = waitingServer();
  const { result, rerender } = show(server, {});
  await waitFor(() => expect(result.current.pending).toHaveLength(1));
  expect(posted(server)).toEqual([]);
  rerender({ tools: { pickLocation: () => "now" } });
  await waitFor(() => expect(posted(server)).toHaveLength(1));
});

function Chat(options: UseToolRunOptions): ReactNode {
  return <p>{useToolRun(options).status}</p>;
}

/** Shows the thread, and the part with the function when its button is pressed. */
function App({ tools, ...options }: UseToolRunOptions): ReactNode {
  const [hasMap, setHasMap] = useState(false);
  return (
    <>
      <Chat {...options} />
      <button type="button" onClick={() => setHasMap(true)}>
        Map
      </button>
      {hasMap ? <Chat {...options} tools={tools} /> : null}
    </>
  );
}

test("the part of a page that has the function need not be the part that shows the thread", async () => {
  const server = waitingServer();
  const pickLocation = vi.fn(() => "here");
  const options = { endpoint: `/api/${++endpoints}`, threadId: "t1", fetch: server.fetch };
  render(<App {...options} tools={{ pickLocation }} />, { wrapper: Wrapper });
  await screen.findByText("waiting");
  expect(pickLocation).not.toHaveBeenCalled();
  act(() => screen.getByRole("button").click());
  await screen.findAllByText("running");
  expect(pickLocation).toHaveBeenCalledOnce();
});
