import { afterEach, expect, test, vi } from "vitest";
import { createThreadClient } from "../../src/client/thread-client.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import type { Fault } from "./fake-server.ts";
import { askFor, createFakeServer, endRun, startTurn, text } from "./fake-server.ts";

const SCHEDULES = Number(process.env.SCHEDULES ?? 150);

afterEach(() => {
  vi.useRealTimers();
});

/** Numbers in 0..1 that are the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

test(`${SCHEDULES} schedules of a bad network end in the server's state, each decision made once`, async () => {
  vi.useFakeTimers();
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const random = seeded(seed);
    const chance = (share: number): boolean => random() < share;
    const server = createFakeServer();
    let isBad = true;
    server.fault = ({ method }): Fault => {
      if (!isBad || chance(0.6)) return undefined;
      if (chance(0.3)) return new Response("<html>Bad gateway</html>", { status: 502 });
      if (method === "GET" || chance(0.5)) return "lose-request";
      return "lose-reply";
    };
    server.backlog = (bytes) => {
      const at = Math.floor(random() * bytes.length);
      if (isBad && chance(0.3)) return { chunks: [bytes.slice(0, at)], cut: true };
      return { chunks: [bytes.slice(0, at), bytes.slice(at)] };
    };
    const client = createThreadClient({ fetch: server.fetch });
    client.subscribe(() => {});
    const wait = (): Promise<unknown> => vi.advanceTimersByTimeAsync(Math.floor(random() * 900));
    /** Repeats an action, as a person would, until the server has accepted it. */
    const insist = async (act: () => Promise<{ readonly ok: boolean }>): Promise<void> => {
      for (let ok = false; !ok; ) {
        const result = act();
        await vi.advanceTimersByTimeAsync(10_000);
        ok = (await result).ok;
        isBad = isBad && chance(0.7);
      }
      isBad = true;
    };

    await insist(() => client.send("Refund 1042"));
    const runId = server.thread.active[0]?.runId ?? "";
    server.append(startTurn(runId));
    for (let index = 0; index < 12; index++) {
      server.append(text(runId, `${index} ä😀 `));
      if (chance(0.2)) server.cut();
      if (chance(0.1)) server.end();
      if (chance(0.1)) server.sendRaw("event: handover\ndata: {}\n\n");
      if (chance(0.1)) server.sendRaw(`data: ${JSON.stringify({ from: 900, to: 901, at: 1, events: [] })}\n\n`);
      if (chance(0.1)) server.sendRaw('data: {"from":1,"to":2,"at":1,"events":[]}\n\n');
      if (chance(0.5)) await wait();
    }
    server.append(...askFor(runId, ["c1"]));
    isBad = false;
    await vi.advanceTimersByTimeAsync(40_000);
    const [step] = client.getSnapshot().pending;
    if (!step) throw new Error(`seed ${seed}: nothing is pending`);
    isBad = true;
    await Promise.all([client.approve(step), client.approve(step), vi.advanceTimersByTimeAsync(10_000)]);
    isBad = false;
    await client.refresh();
    await vi.advanceTimersByTimeAsync(40_000);
    const [again] = client.getSnapshot().pending;
    if (again) expect(await client.approve(again)).toEqual({ ok: true });
    server.append(endRun(runId, "Refunded."));
    await vi.advanceTimersByTimeAsync(40_000);

    const { threadId, connection, error, loading, access, browserSteps, clockOffsetMs, ...view } = client.getSnapshot();
    const truth = viewThread(projectThread(server.thread));
    expect(JSON.stringify(view), `seed ${seed}`).toBe(JSON.stringify(truth));
    expect(connection, `seed ${seed}`).toEqual({ status: "idle" });
    expect(server.thread.anomalies, `seed ${seed}`).toBe(0);
    client.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount(), `seed ${seed}`).toBe(0);
    expect(server.openStreams, `seed ${seed}`).toBe(0);
  }
}, 120_000);
