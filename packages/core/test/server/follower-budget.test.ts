import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../src/agent/agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Thread } from "../../src/protocol/thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { ThreadStore } from "../../src/store/thread-store.ts";
import type { ScriptedTurn } from "../../src/testing/scripted-model.ts";
import { call, delay, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { FakeClock } from "../fake-clock.ts";
import { fakeClock } from "../fake-clock.ts";
import type { Endpoint } from "./endpoint.ts";
import { endpoint, jsonRequest } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import { foldBlocks, parseBlocks } from "./sse.ts";

const MAX_REQUEST_MS = 60_000;

/** A platform whose functions work only while their response is open, and are cut off when their time is over. */
function platform(turnMs: readonly number[], leaseMs = 30_000) {
  const clock = fakeClock();
  const store: ThreadStore = memoryStore({ clock });
  const quick = tool({ description: "x", inputSchema: z.object({}), readOnly: true, execute: () => "ok" });
  const script = (turn: number): ScriptedTurn => [
    delay(turnMs[turn] ?? 0),
    turn < turnMs.length - 1 ? call("quick", {}) : say("Done."),
  ];
  const agent = (own: FakeClock): Agent =>
    defineAgent({
      model: scriptedModel(({ results }) => script(results.length), { clock: own }),
      tools: { quick },
      limits: { repeats: false },
    });
  const request = (): Endpoint & { kill(): void } => {
    const life = mortal(clock, store);
    clock.after(MAX_REQUEST_MS, life.kill);
    const options = { clock: life.clock, store: life.store, leaseMs, maxRequestMs: MAX_REQUEST_MS, livesOn: false };
    return { ...endpoint({ ...options, agent: agent(life.clock) }), kill: life.kill };
  };
  const begin = async (): Promise<string> => {
    const posted = await request().handle(jsonRequest("", { message: { text: "Go" }, key: "k" }));
    return ((await posted.json()) as { threadId: string }).threadId;
  };
  /** Follows as a page does, to the run's end. */
  const follow = async (threadId: string): Promise<Thread> => {
    let seen = emptyThread(threadId);
    for (let requests = 0; seen.runs.length === 0 && requests < 10; requests++) {
      const response = await request().get(`/${threadId}/events`, { "last-event-id": `${seen.seq}` });
      let text: string | undefined;
      void response.text().then((whole) => {
        text = whole;
      });
      while (text === undefined) await clock.advance(100);
      const frames = parseBlocks(text).filter(({ event }) => event === undefined);
      seen = foldBlocks(frames, seen);
    }
    return seen;
  };
  return { clock, request, begin, follow };
}

describe("a follower whose request drives", () => {
  it("asks for the next one as soon as the run is handed over, not when its own time is over", async () => {
    const { clock, begin, follow } = platform([10_000, 10_000, 10_000]);
    const threadId = await begin();
    const start = clock.now();
    const seen = await follow(threadId);
    expect(seen.runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect(clock.now() - start).toBeLessThan(31_000);
  });

  it("takes over only what fits into the time that is left of it, and else asks for the next one", async () => {
    const { clock, begin, request, follow } = platform([40_000]);
    const threadId = await begin();
    const first = request();
    void (await first.get(`/${threadId}/events`)).text();
    await clock.advance(5_000);
    first.kill(); // in the middle of the model's answer, and its lease lasts until second 30
    const seen = await follow(threadId);
    expect(seen.runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect(seen.runs[0]?.turn?.attempt).toBe(2);
  });

  it("looks after a dead driver as soon as its lease can be over, also where that is short", async () => {
    const { clock, begin, request, follow } = platform([2_000], 3_000);
    const threadId = await begin();
    const first = request();
    void (await first.get(`/${threadId}/events`)).text();
    await clock.advance(500);
    first.kill();
    const start = clock.now();
    expect((await follow(threadId)).runs[0]).toMatchObject({ outcome: "completed", text: "Done." });
    expect(clock.now() - start).toBeLessThan(6_000);
  });
});
