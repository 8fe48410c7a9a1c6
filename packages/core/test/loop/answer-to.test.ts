import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ask } from "../../src/agent/ask.ts";
import { tool } from "../../src/agent/tool.ts";
import type { View } from "../../src/protocol/typed.ts";
import { call, say } from "../../src/testing/scripted-model.ts";
import { clerk } from "../server/endpoint.ts";
import { agentRun } from "./agent-run.ts";

const WHERE = { prompt: "Where to?" };
const WHEN = { prompt: "When?", schema: z.object({ day: z.number() }) };
const PAGE = { prompt: "Sign in.", url: "https://bank.test/1" };

const only = (view: View) => {
  const [step] = view.pending;
  if (!step) throw new Error("Nothing waits.");
  return step;
};

function booking(order: () => readonly ("where" | "when" | "page")[]) {
  const questions = { where: WHERE, when: WHEN, page: { ...PAGE, url: `${PAGE.url}${Math.random()}` } };
  const book = tool({
    description: "Books.",
    inputSchema: z.object({}),
    readOnly: true,
    execute: (_input, { answerTo }) => {
      for (const name of order()) if (answerTo(questions[name]) === undefined) return ask(questions[name]);
      return order().map((name) => answerTo(questions[name]) ?? null);
    },
  });
  return agentRun({ tools: { book }, script: [call("book", {}), say("Done.")] });
}

describe("context.answerTo", () => {
  test("gives each of several questions its own answer", async () => {
    const run = booking(() => ["where", "when", "page"]);
    const first = await run.start();
    const second = await (await run.answer(only(first), { user: clerk, value: "Rome" })).settled();
    const third = await (await run.answer(only(second), { user: clerk, value: { day: 3 } })).settled();
    const ended = await (await run.answer(only(third), { user: clerk, value: null })).settled();
    expect(ended.steps).toMatchObject([{ status: "succeeded", output: ["Rome", { day: 3 }, null] }]);
  });

  test("does so in whatever order they come", async () => {
    let asked = 0;
    const run = booking(() => (asked++ === 0 ? ["where"] : ["when", "where"]));
    const second = await (await run.answer(only(await run.start()), { user: clerk, value: "Rome" })).settled();
    expect(only(second).ask?.prompt).toBe("When?");
    const ended = await (await run.answer(only(second), { user: clerk, value: { day: 3 } })).settled();
    expect(ended.steps).toMatchObject([{ output: [{ day: 3 }, "Rome"] }]);
  });

  test("takes another form, or another wording, for another question", async () => {
    const same = { prompt: "When?" };
    const seen: unknown[] = [];
    const book = tool({
      description: "Books.",
      inputSchema: z.object({}),
      readOnly: true,
      execute: (_input, { answerTo }) => {
        if (answerTo(WHEN) === undefined) return ask(WHEN);
        seen.push(answerTo(same), answerTo({ ...WHEN, prompt: "when?" }), answerTo({ ...WHEN, url: "https://a.test" }));
        return "ok";
      },
    });
    const run = agentRun({ tools: { book }, script: [call("book", {}), say("Done.")] });
    await (await run.answer(only(await run.start()), { user: clerk, value: { day: 3 } })).settled();
    expect(seen).toEqual([undefined, undefined, undefined]);
  });
});
