import { describe, expect, test } from "vitest";
import { call, calls, say } from "../../../src/testing/scripted-model.ts";
import { assistant } from "./assistant.ts";
import type { CallExtra } from "./linked.ts";
import { linkedServer, listed, text } from "./linked.ts";

const DONE = say("Done.");

const FORM = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;

async function elicit({ server }: CallExtra, message: string, requestedSchema: unknown = FORM): Promise<string> {
  const { action, content } = await server.elicitInput({ message, requestedSchema: requestedSchema as never });
  return action === "accept" ? JSON.stringify(content) : action;
}

const allowed = { approval: "allow" } as const;

describe("questions of a server", () => {
  test("several in one call are asked one after the other, and each gets its own answer", async () => {
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) => {
      const first = await elicit(extra, "To whom?");
      if (first === "cancel") return text("cancelled");
      const second = await elicit(extra, "What about?");
      return text(`${first} ${second}`);
    });
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const first = await made.start();
    expect(first.pending).toMatchObject([{ ask: { kind: "question", prompt: "To whom?", schema: FORM } }]);
    const second = await made.answer(first, { to: "Ada" });
    expect(second.pending).toMatchObject([{ ask: { prompt: "What about?" } }]);
    const ended = await made.answer(second, { to: "Bea" });
    expect(ended.steps).toMatchObject([{ status: "succeeded", output: '{"to":"Ada"} {"to":"Bea"}' }]);
    expect(server.called).toHaveLength(3);
  });

  test("a server that asks in another order never gets an answer that was meant for another question", async () => {
    let turn = 0;
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) => {
      const asks = turn++ === 0 ? ["Send the mail?"] : ["Delete everything?", "Send the mail?"];
      for (const each of asks) {
        const given = await elicit(extra, each);
        if (given === "cancel") return text("cancelled");
        if (each === "Delete everything?") return text(`deleted: ${given}`);
      }
      return text("sent");
    });
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const second = await made.answer(await made.start(), { to: "yes" });
    expect(second.pending).toMatchObject([{ ask: { prompt: "Delete everything?" } }]);
  });

  test("the same question again after its answer fails the call", async () => {
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) => {
      for (;;) if ((await elicit(extra, "To whom?")) === "cancel") return text("cancelled");
    });
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const ended = await made.answer(await made.start(), { to: "Ada" });
    expect(ended.steps).toMatchObject([{ status: "failed", error: { code: "unresolved" } }]);
  });

  test("denied, they end the call as not run", async () => {
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) =>
      text(await elicit(extra, "To whom?")),
    );
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const waiting = await made.start();
    const [step] = waiting.pending;
    if (!step) throw new Error("Nothing waits.");
    const ended = await (await made.toolrun.deny(step, { user: { id: "clerk" }, reason: "no" })).settled();
    expect(ended.steps).toMatchObject([{ status: "not-run", reason: "denied" }]);
  });

  test("of calls that run side by side go to the call that is asked about", async () => {
    const server = linkedServer([[listed("send")]], async (_name, { about }, extra) =>
      text(`${about} ${await elicit(extra, `${about}?`)}`),
    );
    const script = [calls(call("send", { about: "one" }), call("send", { about: "two" })), DONE];
    const made = assistant(await server.connect(), script, allowed);
    const waiting = await made.start();
    expect(waiting.pending.map(({ input, ask }) => [input, ask?.prompt])).toEqual([
      [{ about: "one" }, "one?"],
      [{ about: "two" }, "two?"],
    ]);
  });

  test.each([
    ["a page that is none of the web", { mode: "url", message: "Go", elicitationId: "1", url: "javascript:alert(1)" }],
    [
      "a form that is no object",
      { message: "Go", requestedSchema: { type: "object", properties: { a: { type: "frob" } } } },
    ],
  ])("%s is not put to anybody", async (_what, params) => {
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) => {
      const answer = await extra.server
        .request({ method: "elicitation/create", params } as never, (await import("zod")).looseObject({}) as never)
        .catch(() => ({ action: "refused" }));
      return text(String((answer as { action: unknown }).action));
    });
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const ended = await made.start();
    expect(ended.steps[0]?.status).toBe("succeeded");
    expect(["cancel", "refused"]).toContain(ended.steps[0]?.output);
  });

  test("a server that goes on after its question was cancelled is not waited for", async () => {
    let aborted = false;
    const server = linkedServer([[listed("send")]], async (_name, _input, extra) => {
      extra.signal.addEventListener("abort", () => {
        aborted = true;
      });
      await elicit(extra, "To whom?");
      return new Promise(() => undefined);
    });
    const made = assistant(await server.connect(), [call("send", {}), DONE], allowed);
    const waiting = await made.start();
    expect(waiting.pending).toMatchObject([{ ask: { prompt: "To whom?" } }]);
    expect(aborted).toBe(true);
  });
});
