import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { runAgent } from "../../src/loop/run-agent.ts";
import { stepThrough } from "../../src/loop/step-through.ts";
import type { AnyStep } from "../../src/protocol/step.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Script, ScriptEntry } from "../../src/testing/scripted-model.ts";
import { call, calls, say, scriptedModel } from "../../src/testing/scripted-model.ts";
import { fakeClock } from "../fake-clock.ts";
import type { AgentRun, AgentRunOptions } from "../loop/agent-run.ts";
import { agentRun, lastResults, told } from "../loop/agent-run.ts";
import { clerk as user } from "./endpoint.ts";
import { mortal } from "./mortal.ts";
import { errorOf } from "./shop.ts";
import { foldBlocks, foldStream, parseBlocks, readStream } from "./sse.ts";

const inputSchema = z.object({ n: z.number().optional() });

/** A tool that notes what it ran with, and asks unless it is told otherwise. */
function acting(options: object = {}): { readonly tool: Tool; readonly ran: unknown[] } {
  const ran: unknown[] = [];
  const made = tool({
    description: "x",
    inputSchema,
    ...options,
    execute: (input) => {
      ran.push(input.n ?? 0);
      return `ran ${input.n ?? 0}`;
    },
  });
  return { tool: made, ran };
}

const act = (n = 0) => call("act", { n });
const DONE = say("Done.");

/** One run on one server; `more` servers over the same store and clock. */
function rows(script: readonly ScriptEntry[], options: Partial<AgentRunOptions> = {}, own: object = {}) {
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const acted = acting(own);
  const tools = { act: acted.tool, ...options.tools };
  const serverOf = (entries: readonly ScriptEntry[], more: Partial<AgentRunOptions> = {}): AgentRun =>
    agentRun({ clock, ...options, ...more, script: entries, tools: { ...tools, ...more.tools }, server: { store } });
  return { run: serverOf(script), other: serverOf, ran: acted.ran, clock, store };
}

function first(view: { readonly pending: readonly AnyStep[] }): AnyStep {
  const [step] = view.pending;
  if (!step) throw new Error("Nothing waits.");
  return step;
}

const decisionOf = ({ id, digest }: AnyStep, action = "approve") => ({ callId: id, digest, action });

/** What a browser has after reading the stream from its snapshot. */
async function shown(run: AgentRun, threadId: string) {
  const body = await (await run.get(`/${threadId}`)).json();
  const text = await (await run.get(`/${threadId}/events?after=${body.seq}`)).text();
  return viewThread(foldBlocks(parseBlocks(text), body.thread));
}

describe("[P+] positive control: what is honest goes through", () => {
  it("an approval runs its call once, a denial none, and the model is told both", async () => {
    const { run, ran } = rows([calls(act(1), act(2)), DONE]);
    const asked = await run.start();
    const [one, two] = asked.pending as readonly [AnyStep, AnyStep];
    await run.approve(one, { user });
    const ended = await (await run.deny(two, { user, reason: "too much" })).settled();
    expect([ended.outcome, ran]).toEqual(["completed", [1]]);
    expect(told(run.model.requests[1])).toMatch(/ran 1.*too much/);
  });

  it("the same call asked and approved again and again runs each time, and a decision an hour later counts", async () => {
    const { run, ran, clock } = rows([act(1), act(1), act(1), DONE]);
    let view = await run.start();
    for (let time = 0; time < 3; time++) {
      await clock.advance(3_600_000);
      view = await (await run.approve(first(view), { user })).settled();
    }
    expect([view.outcome, ran]).toEqual(["completed", [1, 1, 1]]);
  });
});

describe("who takes an approved call up", () => {
  it("[P04] with its server dead and two others that get the same approval and sweep at once: it runs once", async () => {
    const made = rows([act(), DONE]);
    const asked = await made.run.start();
    const others = [made.other([DONE]), made.other([DONE])];
    const body = { decisions: [decisionOf(first(asked))], key: "yes" };
    const answers = await Promise.all(
      [0, 1, 0, 1, 0].flatMap((index) => {
        const server = others[index];
        return server ? [server.post(`/${asked.id}/decisions`, body), server.sweep()] : [];
      }),
    );
    await made.clock.advance(60_000);
    await Promise.all(others.map((server) => server.sweep()));
    await made.clock.advance(0);
    expect(answers.flatMap((answer) => (answer instanceof Response ? [answer.status] : []))).toEqual(
      Array.from({ length: 5 }, () => 200),
    );
    expect([made.ran, (await made.run.thread(asked.id)).runs[0]?.outcome]).toEqual([[0], "completed"]);
  });

  it("[P16] a process that has never seen the thread finds it in the list, with its step, and runs it", async () => {
    const made = rows([act(), DONE]);
    await made.run.start();
    const fresh = made.other([DONE]);
    const [row] = (await fresh.list({ user })).rows;
    const found = await fresh.read({ user, threadId: row?.id ?? "" });
    expect([row?.status, row?.pending]).toEqual(["waiting", 1]);
    const ended = await (await fresh.approve(found?.pending ?? [], { user })).settled();
    expect([ended.outcome, made.ran]).toEqual(["completed", [0]]);
  });

  it("[P05] runs it first, and only then asks the model, with its result", async () => {
    const { run, ran } = rows([act(), (results) => say(`Read ${JSON.stringify(results.map(({ output }) => output))}`)]);
    const asked = await run.start();
    expect(run.model.requests).toHaveLength(1);
    const ended = await (await run.approve(first(asked), { user })).settled();
    expect([ran, run.model.requests.length, ended.text]).toEqual([[0], 2, 'Read ["ran 0"]']);
  });
});

describe("a call that was decided", () => {
  it("[P07] is not asked about again, by the server that asked or by another", async () => {
    for (const again of [false, true]) {
      const made = rows([act(), DONE], { policy: () => "ask" });
      const asked = await made.run.start();
      const server = again ? made.other([DONE]) : made.run;
      const ended = await (await server.approve(first(asked), { user })).settled();
      expect([ended.outcome, ended.pending, made.ran]).toEqual(["completed", [], [0]]);
      const events = await server.events(asked.id);
      expect(events.filter(({ type }) => type === "decision-requested")).toHaveLength(1);
    }
  });

  it.each([
    ["[P21] runs although the rule throws by now", () => Promise.reject(new Error("The context is gone."))],
    ["[P21] runs although the rule denies by now", () => ({ deny: "Not any more." })],
    ["[P21] runs although the rule would ask by now", () => "ask" as const],
  ])("%s, which is not even asked", async (_title, policy) => {
    const made = rows([act(), DONE]);
    const asked = await made.run.start();
    let times = 0;
    const later = made.other([DONE], {
      policy: () => {
        times++;
        return policy();
      },
    });
    const ended = await (await later.approve(first(asked), { user })).settled();
    expect([ended.outcome, made.ran, times]).toEqual(["completed", [0], 0]);
  });

  it("[P13] and denied never runs, whatever is lost: restarted, allowed by a new policy, approved and swept", async () => {
    const made = rows([act(), DONE]);
    const asked = await made.run.start();
    const step = first(asked);
    const dead = mortal(made.clock, made.store);
    const denying = agentRun({
      script: [DONE],
      tools: { act: acting().tool },
      clock: made.clock,
      server: { store: dead.store, clock: dead.clock } as never,
    });
    await denying.deny(step, { user });
    dead.kill(); // before anything follows of it
    const later = made.other([DONE], { policy: () => "allow" });
    const late = await later.post(`/${asked.id}/decisions`, { decisions: [decisionOf(step)], key: "yes" });
    expect(await errorOf(late)).toMatchObject({ status: 409, code: "decided" });
    await made.clock.advance(31_000);
    await later.sweep();
    await made.clock.advance(0);
    const thread = await later.thread(asked.id);
    expect(thread.runs[0]?.turns[0]?.calls[0]).toMatchObject({ status: "not-run", reason: "denied" });
    expect(made.ran).toEqual([]);
  });

  it("[P14] covers itself: what was denied beside it stays denied, and the next one like it asks", async () => {
    const write = acting();
    const made = rows([calls(act(1), call("write", { n: 1 })), calls(act(1), act(2), call("write", { n: 1 }))], {
      tools: { write: write.tool },
    });
    const asked = await made.run.start();
    const [denied, approved] = asked.pending as readonly [AnyStep, AnyStep];
    await made.run.deny(denied, { user });
    const again = await (await made.run.approve(approved, { user })).settled();
    expect([made.ran, write.ran]).toEqual([[], [1]]);
    expect(again.pending.map(({ tool: name, input }) => [name, input])).toEqual([
      ["act", { n: 1 }],
      ["act", { n: 2 }],
      ["write", { n: 1 }],
    ]);
  });
});

describe("several calls that wait together", () => {
  it("[P10] are several questions, in the log and in a browser", async () => {
    const { run } = rows([calls(act(1), act(2))]);
    const asked = await run.start();
    expect(asked.pending.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }]);
    expect((await shown(run, asked.id)).pending.map(({ id }) => id)).toEqual(asked.pending.map(({ id }) => id));
  });

  it.each([
    ["[P09] all run once when approved in one post", 1],
    ["[P09] all run once when approved one after the other", 2],
    ["[P09] all run once when approved at once in posts of their own", 3],
  ])("%s", async (_title, how) => {
    const { run, ran, clock } = rows([calls(act(1), act(2)), DONE]);
    const asked = await run.start();
    const post = (steps: readonly AnyStep[], key: string) =>
      run.post(`/${asked.id}/decisions`, { decisions: steps.map((step) => decisionOf(step)), key });
    if (how === 1) await post(asked.pending, "all");
    const posts = asked.pending.map((step) => () => post([step], step.id));
    if (how === 2) for (const one of posts) expect((await one()).status).toBe(200);
    if (how === 3) await Promise.all(posts.map((one) => one()));
    await clock.advance(0);
    expect(ran.toSorted()).toEqual([1, 2]);
    expect((await run.thread(asked.id)).runs[0]?.outcome).toBe("completed");
    expect(lastResults(run.model.requests[1])).toEqual(["ran 1", "ran 2"]);
  });

  it("[P27] are answered singly, and what one makes is on screen before the others are answered", async () => {
    const reports = tool({
      description: "x",
      inputSchema,
      execute: (_input, { progress }) => {
        progress({ value: 1, max: 2, label: "half" });
        return "reported";
      },
    });
    const { run, clock } = rows([calls(act(1), call("report", {}), act(3)), DONE], { tools: { report: reports } });
    const asked = await run.start();
    await run.approve(asked.pending[1] ?? [], { user });
    await clock.advance(1_000);
    const now = await shown(run, asked.id);
    expect(now.steps.map(({ status }) => status)).toEqual(["waiting", "succeeded", "waiting"]);
    expect(now.steps[1]).toMatchObject({ output: "reported", progress: { label: "half" } });
    const types = (await run.events(asked.id)).map(({ type }) => type);
    expect(types).toContain("call-progressed");
  });

  it("[P25] beside allowed ones: no result is lost over pauses that follow each other", async () => {
    const look = acting({ readOnly: true });
    const turn = calls(call("look", { n: 1 }), act(2), call("look", { n: 3 }));
    const { run } = rows([turn, turn, DONE], { tools: { look: look.tool } });
    let view = await run.start();
    view = await (await run.approve(first(view), { user })).settled();
    expect(lastResults(run.model.requests[1])).toEqual(["ran 1", "ran 2", "ran 3"]);
    view = await (await run.approve(first(view), { user })).settled();
    expect(lastResults(run.model.requests[2])).toEqual(["ran 1", "ran 2", "ran 3"]);
    expect(view.steps.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "succeeded"));
  });

  it("[P30] pause after pause: each is a question, and the run goes on behind the last", async () => {
    const { run, ran } = rows([act(1), act(2), act(3), DONE]);
    let view = await run.start();
    for (const n of [1, 2, 3]) {
      expect([view.status, first(view).input]).toEqual(["waiting", { n }]);
      view = await (await run.approve(first(view), { user })).settled();
    }
    expect([view.outcome, ran]).toEqual(["completed", [1, 2, 3]]);
  });
});

describe("a question inside agents", () => {
  /** Agents below each other, the innermost of which has the tool that asks. */
  const nested = (levels: number, inner: Tool): Tool => {
    const script: Script =
      levels === 1 ? [act(7), say("Acted.")] : [call("helper", { prompt: "Act." }), say("It was done.")];
    const tools = levels === 1 ? { act: inner } : { helper: nested(levels - 1, inner) };
    return agentTool({ agent: defineAgent({ model: scriptedModel(script), tools }), description: "x" });
  };

  it.each([
    ["[P18] surfaces at the top, and its answer goes down", 1],
    ["[P19] two levels down runs once", 2],
    ["[P19] three levels down runs once", 3],
  ])("%s", async (_title, levels) => {
    for (const restarted of [false, true]) {
      const inner = acting();
      const helper = nested(levels, inner.tool);
      const made = rows([call("helper", { prompt: "Act." }), DONE], { tools: { helper } });
      const asked = await made.run.start();
      expect([asked.status, asked.pending.map(({ tool: name }) => name), inner.ran]).toEqual(["waiting", ["act"], []]);
      const step = first(asked);
      const { active } = await made.run.thread(asked.id);
      const owner = active.find((run) => run.turn?.calls.some(({ callId }) => callId === step.id));
      expect(owner?.depth).toBe(levels);
      const server = restarted ? made.other([DONE], { tools: { helper: nestedAgain(levels, inner.tool) } }) : made.run;
      const ended = await (await server.approve(step, { user })).settled();
      expect([ended.outcome, ended.text, inner.ran]).toEqual(["completed", "Done.", [7]]);
    }
  });

  /** The same agents in another process: their models answer what is left to say. */
  const nestedAgain = (levels: number, inner: Tool): Tool => {
    const tools = levels === 1 ? { act: inner } : { helper: nestedAgain(levels - 1, inner) };
    const script = [say(levels === 1 ? "Acted." : "It was done.")];
    return agentTool({ agent: defineAgent({ model: scriptedModel(script), tools }), description: "x" });
  };
});

describe("[P20] a call that asks does not run by itself", () => {
  const WAYS: Readonly<Record<string, (script: Script, tool: Tool) => Promise<unknown>>> = {
    "in code": async (script, tools) => agentRun({ script: script as never, tools: { act: tools } }).start(),
    "while somebody streams": async (script, tools) => {
      const run = agentRun({ script: script as never, tools: { act: tools } });
      const sent = await (await run.post("", { message: { text: "Go" }, key: "k" })).json();
      const reader = readStream(await run.get(`/${sent.threadId}/events`));
      reader.flow();
      await run.clock.advance(1_000);
      expect(reader.done).toBe(true);
      expect(viewThread(foldStream(reader.text, sent.threadId)).pending).toHaveLength(1);
    },
    "where only readers drive": async (script, tools) => {
      const run = agentRun({ script: script as never, tools: { act: tools }, server: { livesOn: false } });
      const sent = await (await run.post("", { message: { text: "Go" }, key: "k" })).json();
      expect(
        viewThread(foldStream(await (await run.get(`/${sent.threadId}/events`)).text(), sent.threadId)).status,
      ).toBe("waiting");
    },
    "in memory, to its end": async (script, tools) => {
      const agent = defineAgent({ model: scriptedModel(script), tools: { act: tools } });
      expect((await runAgent(agent, "Go", { onText: () => undefined })).pending).toHaveLength(1);
    },
    "in memory, step by step": async (script, tools) => {
      const agent = defineAgent({ model: scriptedModel(script), tools: { act: tools } });
      const steps = stepThrough(agent, "Go");
      let yielded = await steps.next();
      while (yielded.type === "yielded") yielded = await steps.next();
      expect(yielded.type).toBe("waiting");
    },
  };

  it.each(Object.keys(WAYS))("%s", async (way) => {
    const { tool: asks, ran } = acting();
    await WAYS[way]?.([calls(say("Let me. "), act(1)), DONE], asks);
    expect(ran).toEqual([]);
    const honest = acting({ readOnly: true });
    if (way === "in code") await WAYS[way]?.([act(1), DONE], honest.tool);
    if (way === "in code") expect(honest.ran).toEqual([1]);
  });
});

describe("what a browser sees of it", () => {
  it("[P08] the stream ends although the app's own callback never does, or throws", async () => {
    for (const onEvent of [() => new Promise<void>(() => undefined), () => Promise.reject(new Error("db is down"))]) {
      const clock = fakeClock();
      const run = agentRun({
        script: [act(), DONE],
        tools: { act: acting().tool },
        clock,
        server: { onEvent } as never,
      });
      const asked = await run.start();
      await run.approve(first(asked), { user });
      const reader = readStream(await run.get(`/${asked.id}/events`));
      reader.flow();
      await clock.advance(1_000);
      expect([reader.done, viewThread(foldStream(reader.text, asked.id)).outcome]).toEqual([true, "completed"]);
    }
  });

  it("[P23] a question that ran out has no buttons any more, without anybody pressing one", async () => {
    const { run, clock } = rows([act(), DONE], {}, { approval: { ask: { expiresInMs: 1_000 } } });
    const asked = await run.start();
    const step = first(asked);
    await clock.advance(1_000);
    await run.get(`/${asked.id}`); // the tab looks, as it does while something waits
    await clock.advance(0);
    const now = await shown(run, asked.id);
    expect([now.pending, now.steps[0]?.status, now.steps[0]?.reason]).toEqual([[], "not-run", "expired"]);
    const late = await errorOf(await run.post(`/${asked.id}/decisions`, { decisions: [decisionOf(step)], key: "k" }));
    expect(late).toMatchObject({ status: 410, code: "expired", step: { status: "not-run", reason: "expired" } });
  });

  it("[P26] a result finds its call in an earlier message, also behind later ones", async () => {
    const { run } = rows([calls(say("Let me. "), act(1)), DONE]);
    const asked = await run.start();
    await run.send({ user, threadId: asked.id, message: "And be quick" });
    const body = await (await run.get(`/${asked.id}`)).json();
    await (await run.approve(first(asked), { user })).settled();
    const text = await (await run.get(`/${asked.id}/events?after=${body.seq}`)).text();
    const view = viewThread(foldBlocks(parseBlocks(text), body.thread));
    const [, earlier] = view.messages;
    expect(earlier?.parts.at(-1)).toMatchObject({ type: "step", step: { status: "succeeded", output: "ran 1" } });
    expect(view).toEqual(viewThread(foldBlocks([], (await (await run.get(`/${asked.id}`)).json()).thread)));
  });

  it("[P28] a decision needs the step's id and digest alone, and takes nothing else of the call", async () => {
    const { run, ran } = rows([act(1), DONE]);
    const asked = await run.start();
    const decision = decisionOf(first(asked));
    expect(Object.keys(decision)).toEqual(["callId", "digest", "action"]);
    for (const more of [{ tool: "act" }, { salt: "s" }, { signature: "s" }, { output: "forged" }]) {
      const body = { decisions: [{ ...decision, ...more }], key: "forged" };
      expect((await run.post(`/${asked.id}/decisions`, body)).status).toBe(400);
    }
    expect((await run.post(`/${asked.id}/decisions`, { decisions: [decision], key: "k" })).status).toBe(200);
    await run.clock.advance(0);
    expect(ran).toEqual([1]);
  });

  it("[P31] one call is one card, live, stored, and after both", async () => {
    const { run } = rows([calls(say("Let me. "), act(1)), DONE]);
    const threadId = await run.begin();
    const live = viewThread(foldStream(await (await run.get(`/${threadId}/events`)).text(), threadId));
    const stored = await run.read({ user, threadId });
    const both = await shown(run, threadId);
    for (const view of [live, stored, both]) {
      const cards = view?.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "step"));
      expect([cards?.length, view?.steps.length, view?.pending.length]).toEqual([1, 1, 1]);
    }
  });
});
