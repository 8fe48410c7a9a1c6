import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { StrictMode } from "react";
import { SWRConfig } from "swr";
import type { ThreadRow } from "toolrun";
import { expect, test, vi } from "vitest";
import { useThreads } from "../../src/index.ts";

function Wrapper({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <StrictMode>
      <SWRConfig value={{ provider: () => new Map(), dedupingInterval: 0 }}>{children}</SWRConfig>
    </StrictMode>
  );
}

const row = (id: string, pending = 0): ThreadRow => ({
  ...{ id, pending, title: `Thread ${id}`, updatedAt: 1 },
  status: pending > 0 ? "waiting" : "ended",
});

/** A list behind the wire contract; `refuse` makes every write fail. */
function listServer(rows: ThreadRow[]) {
  const state = { rows, refuse: false, gate: Promise.resolve() };
  const fetch = vi.fn<typeof globalThis.fetch>(async (input, init) => {
    const [, id] = /\/threads\/(\w+)/.exec(String(input)) ?? [];
    if (init?.method === undefined || init.method === "GET") return Response.json({ rows: state.rows });
    await state.gate;
    if (state.refuse) return Response.json({ error: { code: "forbidden", message: "No." } }, { status: 403 });
    const { title } = JSON.parse(String(init.body));
    state.rows =
      init.method === "DELETE"
        ? state.rows.filter((each) => each.id !== id)
        : state.rows.map((each) => (each.id === id ? { ...each, title } : each));
    return init.method === "DELETE" ? new Response(null, { status: 204 }) : Response.json({ seq: 9 });
  });
  return { state, fetch };
}

test("threads come with the number of steps that wait", async () => {
  const { fetch } = listServer([row("a", 2), row("b"), row("c", 1)]);
  const { result } = renderHook(() => useThreads({ fetch }), { wrapper: Wrapper });
  expect(result.current).toMatchObject({ threads: [], pending: 0, isLoading: true });
  await waitFor(() => expect(result.current.threads).toHaveLength(3));
  expect(result.current).toMatchObject({ pending: 3, error: null, isLoading: false });
});

test("a rename and a removal show at once and stay", async () => {
  const { fetch, state } = listServer([row("a"), row("b")]);
  const { result } = renderHook(() => useThreads({ fetch }), { wrapper: Wrapper });
  await waitFor(() => expect(result.current.threads).toHaveLength(2));
  let open = (): void => {};
  state.gate = new Promise((resolve) => {
    open = resolve;
  });
  let renamed: Promise<unknown> | undefined;
  act(() => {
    renamed = result.current.rename("a", "New");
  });
  await waitFor(() => expect(result.current.threads[0]?.title).toBe("New"));
  expect(state.rows[0]?.title).toBe("Thread a");
  open();
  await act(async () => expect(await renamed).toEqual({ ok: true }));
  await act(async () => expect(await result.current.remove("b")).toEqual({ ok: true }));
  await waitFor(() => expect(result.current.threads).toMatchObject([{ id: "a", title: "New" }]));
});

test("a refused removal brings the row back and says why", async () => {
  const { fetch, state } = listServer([row("a"), row("b")]);
  const { result } = renderHook(() => useThreads({ fetch }), { wrapper: Wrapper });
  await waitFor(() => expect(result.current.threads).toHaveLength(2));
  state.refuse = true;
  await act(async () => expect(await result.current.remove("a")).toMatchObject({ ok: false, code: "forbidden" }));
  expect(result.current.threads).toHaveLength(2);
});

test("a list that cannot be read is an error, not an empty list for ever", async () => {
  const fetch = vi.fn<typeof globalThis.fetch>(async () =>
    Response.json({ error: { code: "unauthenticated", message: "Sign in." } }, { status: 401 }),
  );
  const { result } = renderHook(() => useThreads({ fetch }), { wrapper: Wrapper });
  await waitFor(() => expect(result.current.error).toMatchObject({ code: "unauthenticated" }));
});
