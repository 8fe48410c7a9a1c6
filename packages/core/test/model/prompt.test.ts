import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { INPUT_CHANGED, NOT_RUN } from "../../src/model/call-result.ts";
import { checkPairing } from "../../src/model/check-pairing.ts";
import type { ModelMessage } from "../../src/model/model.ts";
import { NOTE_PREFIX, promptOf, RUN_BOUNDARY } from "../../src/model/prompt.ts";
import { type CallPlan, type Outcome, ThreadBuilder } from "./thread-builder.ts";

const ok: Outcome = { type: "succeeded", output: { ok: true } };

function prompt(built: ThreadBuilder, instructions?: string): ModelMessage[] {
  return promptOf(built.thread, built.root, instructions);
}

/** One line a message, short enough to read in a table. */
function lines(messages: readonly ModelMessage[]): string[] {
  return messages.map((message) => {
    switch (message.role) {
      case "system":
        return `system: ${message.text}`;
      case "tool":
        return `tool: ${message.results.map(({ id, output, isError }) => `${id}${isError ? "!" : ""}=${JSON.stringify(output)}`).join(" ")}`;
      default:
        return `${message.role}: ${message.parts.map((part) => (part.type === "text" ? part.text : part.type === "call" ? `${part.name}#${part.id}(${part.inputText})` : part.type)).join(" | ")}`;
    }
  });
}

describe("the history", () => {
  test("of a first turn is the instructions and the message", () => {
    expect(lines(prompt(new ThreadBuilder().message("Hi").run().turn(), "Be kind."))).toEqual([
      "system: Be kind.",
      "user: Hi",
    ]);
    expect(lines(prompt(new ThreadBuilder().message("Hi").run().turn()))).toEqual(["user: Hi"]);
  });

  test("has turns with calls and no text, results in call order whatever ended first", () => {
    const built = new ThreadBuilder()
      .message("Go")
      .run()
      .turn()
      .text("Let me look.")
      .end(
        { tool: "a", input: { x: 1 }, providerId: "p1", outcome: ok },
        { tool: "b", outcome: { type: "succeeded", output: "text" } },
      )
      .turn()
      .end({ tool: "a", outcome: ok })
      .turn();
    expect(lines(prompt(built))).toEqual([
      "user: Go",
      'assistant: Let me look. | a#p1({"x":1}) | b#c2({})',
      'tool: p1={"ok":true} c2="text"',
      "assistant: a#c3({})",
      'tool: c3={"ok":true}',
    ]);
  });

  test("has earlier runs, and a message that steered where the model read it", () => {
    const built = new ThreadBuilder().message("One").run().turn().text("1").end({ tool: "a", outcome: ok });
    built.message("Faster").turn().text("Done 1").end().finish();
    built.message("Two").run().turn();
    expect(lines(prompt(built))).toEqual([
      "user: One",
      "assistant: 1 | a#c1({})",
      'tool: c1={"ok":true}',
      "user: Faster",
      "assistant: Done 1",
      "user: Two",
    ]);
  });

  test("leaves out what came after this turn began, and what the turn has written so far", () => {
    const built = new ThreadBuilder().message("One").run().turn().text("half").half("a").message("Later");
    expect(lines(prompt(built))).toEqual(["user: One"]);
    expect(lines(prompt(built.retry()))).toEqual(["user: One", "user: Later"]);
  });

  test("asked before the turn began, has every message so far", () => {
    const built = new ThreadBuilder().message("One").run().message("Two");
    expect(lines(prompt(built))).toEqual(["user: One", "user: Two"]);
  });

  test.each([
    ["stopped", "the person stopped it."],
    ["failed", "something went wrong."],
    ["limited", "it reached a limit."],
  ] as const)(
    "keeps the text of a %s run's last turn without its half-written calls, and says why it ends",
    (outcome, why) => {
      const built = new ThreadBuilder().message("One").run().turn().text("I was about").half("a").finish(outcome);
      built.message("Two").run().turn();
      expect(lines(prompt(built))).toEqual([
        "user: One",
        "assistant: I was about",
        `user: ${RUN_BOUNDARY}${why}`,
        "user: Two",
      ]);
    },
  );

  test("of a run that continues another asks the model to go on", () => {
    const built = new ThreadBuilder()
      .message("One")
      .run()
      .turn()
      .text("So far")
      .end()
      .finish("limited")
      .run("continue")
      .turn();
    expect(lines(prompt(built)).at(-1)).toContain("go on where the work ended");
  });

  test("has the notes of the log after the results", () => {
    const built = new ThreadBuilder().message("Go").run().turn().end({ tool: "a", outcome: ok }).turn("Answer now.");
    expect(lines(prompt(built)).slice(-2)).toEqual(['tool: c1={"ok":true}', `user: ${NOTE_PREFIX}Answer now.`]);
    built.text("x").end({ tool: "a", outcome: ok }).turn();
    expect(lines(prompt(built))).toContain(`user: ${NOTE_PREFIX}Answer now.`);
  });

  test("of a child run is its task and its own turns", () => {
    const built = new ThreadBuilder().message("Go").run().turn();
    built.add({ type: "turn-ended", turn: 1, attempt: 1, finishReason: "stop" });
    const hashes = { toolHash: "h", salt: "s", digest: "d" };
    built.add({ type: "call-ready", callId: "p", turn: 1, tool: "research", input: { prompt: "Find it." }, ...hashes });
    built.add({ type: "call-started", callId: "p", attempt: 1, digest: "d", key: "k" });
    built.add({ type: "run-started", trigger: "call", depth: 1, parentCallId: "p", agentVersion: "1" }, "child");
    built.add({ type: "turn-started", turn: 1, attempt: 1, model: "m" }, "child");
    const child = built.thread.active[1];
    expect(child && lines(promptOf(built.thread, child, "Research."))).toEqual(["system: Research.", "user: Find it."]);
  });
});

describe("what the model is told of a call", () => {
  const told = (outcome: Outcome, plan: Partial<CallPlan> = {}) => {
    const built = new ThreadBuilder()
      .message("Go")
      .run()
      .turn()
      .end({ tool: "t", input: { amount: 49.9 }, ...plan, outcome })
      .turn();
    const [, assistant, tool] = prompt(built);
    const call = assistant?.role === "assistant" ? assistant.parts[0] : undefined;
    const result = tool?.role === "tool" ? tool.results[0] : undefined;
    return {
      wrote: call?.type === "call" ? call.inputText : undefined,
      output: result?.output,
      isError: result?.isError,
    };
  };

  test.each<[string, Outcome, unknown, boolean]>([
    ["its output", ok, { ok: true }, false],
    ["what toModel made of it", { type: "succeeded", output: { big: 1 }, toModel: "small" }, "small", false],
    ["toModel null is an answer too", { type: "succeeded", output: { big: 1 }, toModel: null }, null, false],
    ["no output", { type: "succeeded" }, null, false],
    ["a failure", { type: "failed", error: { code: "tool-error", message: "no stock" } }, "no stock", true],
    [
      "invalid arguments with their issues",
      {
        type: "failed",
        error: {
          code: "invalid-input",
          message: "t: bad",
          issues: [
            { path: ["a", 0], message: "too big" },
            { path: [], message: "odd" },
          ],
        },
      },
      "t: bad\n- a.0: too big\n- odd",
      true,
    ],
    [
      "an effect nobody saw",
      { type: "failed", effect: "unknown", error: { code: "timed-out", message: "took too long." } },
      "took too long. It is not known whether the tool had an effect: find out before you try again.",
      true,
    ],
    [
      "a denial",
      { type: "not-run", reason: "denied", words: "wrong order" },
      `${NOT_RUN}: denied by the person: wrong order`,
      true,
    ],
    ["a denial without words", { type: "not-run", reason: "denied" }, `${NOT_RUN}: denied by the person`, true],
    [
      "a policy's refusal",
      { type: "not-run", reason: "blocked", words: "admins only" },
      `${NOT_RUN}: blocked by the app's policy: admins only`,
      true,
    ],
    ["an expiry", { type: "not-run", reason: "expired" }, `${NOT_RUN}: nobody answered in time`, true],
    ["a stop", { type: "not-run", reason: "stopped" }, `${NOT_RUN}: the run ended before it could start`, true],
    ["a skip", { type: "not-run", reason: "skipped" }, `${NOT_RUN}: skipped by the person`, true],
    [
      "a skip of an interrupted call",
      { type: "not-run", reason: "skipped", effect: "unknown" },
      "The tool was interrupted and was not run again. It is not known whether the tool had an effect: find out before you try again.",
      true,
    ],
  ])("%s", (_, outcome, output, isError) => {
    expect(told(outcome)).toEqual({ wrote: '{"amount":49.9}', output, isError });
  });

  test("an edit: the call keeps the model's words, the result names what ran", () => {
    const edited = told({ type: "succeeded", output: { refunded: 20 }, edited: { amount: 20 } });
    expect(edited.wrote).toBe('{"amount":49.9}');
    expect(edited.output).toEqual({ note: INPUT_CHANGED.person, input: { amount: 20 }, output: { refunded: 20 } });
    const failed = told({ type: "failed", error: { code: "tool-error", message: "no" }, edited: { amount: 20 } });
    expect(failed).toMatchObject({ isError: true, output: { note: INPUT_CHANGED.person, error: "no" } });
  });

  test("an edited call that never started did not run with the person's input", () => {
    const error = { code: "unknown-tool", message: "gone" } as const;
    expect(told({ type: "failed", error, edited: { amount: 20 }, unstarted: true }).output).toBe("gone");
  });

  test("a policy's change is not blamed on the person", () => {
    const changed = told(
      { type: "succeeded", output: 1, modified: { amount: 5 } },
      { inputText: '{ "amount": 49.90 }' },
    );
    expect(changed.wrote).toBe('{ "amount": 49.90 }');
    expect(changed.output).toEqual({ note: INPUT_CHANGED.policy, input: { amount: 5 }, output: 1 });
  });

  test("odd names, big integers and broken JSON survive as the model wrote them", () => {
    for (const tool of ["constructor", "__proto__", "toString"]) {
      const built = new ThreadBuilder().message("Go").run().turn();
      built
        .end(
          { tool, inputText: '{"id":1234567890123456789}', outcome: ok },
          { tool, inputText: '{"a":', input: null, outcome: ok },
        )
        .turn();
      expect(lines(prompt(built))[1]).toBe(`assistant: ${tool}#c1({"id":1234567890123456789}) | ${tool}#c2({"a":)`);
    }
  });
});

describe("the guidance after a denial", () => {
  const denied: CallPlan = { tool: "t", input: { secret: 1 }, outcome: { type: "not-run", reason: "denied" } };
  const guidance = (built: ThreadBuilder) =>
    lines(prompt(built)).filter((line) => line.includes("denied a call you just made"));

  test("comes last and once, without arguments", () => {
    const built = new ThreadBuilder().message("Go").run().turn().end(denied, denied, { tool: "a", outcome: ok });
    built.message("Hm").turn("Note.");
    expect(guidance(built)).toHaveLength(1);
    expect(lines(prompt(built)).at(-1)).toBe(guidance(built)[0]);
    expect(guidance(built)[0]).not.toContain("secret");
  });

  test.each<[string, Outcome]>([
    ["a policy's refusal", { type: "not-run", reason: "blocked" }],
    ["an expiry", { type: "not-run", reason: "expired" }],
    ["a skip", { type: "not-run", reason: "skipped" }],
    ["a failure", { type: "failed" }],
  ])("does not come after %s", (_, outcome) => {
    expect(guidance(new ThreadBuilder().message("Go").run().turn().end({ tool: "t", outcome }).turn())).toEqual([]);
  });

  test("does not come after an older denial", () => {
    const built = new ThreadBuilder()
      .message("Go")
      .run()
      .turn()
      .end(denied)
      .turn()
      .end({ tool: "a", outcome: ok })
      .turn();
    expect(guidance(built)).toEqual([]);
    built.text("Done").end().finish().message("Next").run().turn();
    expect(guidance(built)).toEqual([]);
  });
});

describe("ids", () => {
  test("that a server uses again in a later turn are replaced by ours", () => {
    const built = new ThreadBuilder().message("Go").run().turn().end({ tool: "a", providerId: "call_0", outcome: ok });
    built.turn().end({ tool: "b", providerId: "call_0", outcome: ok }).turn();
    expect(lines(prompt(built)).slice(1)).toEqual([
      "assistant: a#call_0({})",
      'tool: call_0={"ok":true}',
      "assistant: b#c2({})",
      'tool: c2={"ok":true}',
    ]);
  });

  test("that two calls of a turn share are replaced by ours", () => {
    const built = new ThreadBuilder().message("Go").run().turn();
    built.end({ tool: "a", providerId: "x", outcome: ok }, { tool: "b", providerId: "x", outcome: ok }).turn();
    expect(lines(prompt(built)).at(-1)).toBe('tool: c1={"ok":true} c2={"ok":true}');
  });
});

test("settled turns and messages keep their objects from request to request", () => {
  const built = new ThreadBuilder().message("Go").run();
  let before: ModelMessage[] = [];
  for (let turn = 0; turn < 5; turn++) {
    built.turn();
    const now = prompt(built, "Be kind.");
    expect(now.slice(0, before.length).every((message, index) => message === before[index])).toBe(true);
    before = now;
    built.text("x").end({ tool: "a", outcome: ok });
  }
  expect(before).toHaveLength(10);
});

test("whatever happened in a thread, calls and results pair", () => {
  const outcome: fc.Arbitrary<Outcome> = fc.oneof(
    fc.record({ type: fc.constant("succeeded" as const), output: fc.constantFrom(1, "text", { a: [1] }) }),
    fc.constant<Outcome>({ type: "succeeded", output: 1, edited: { b: 2 } }),
    fc.constant<Outcome>({ type: "failed", effect: "unknown" }),
    fc.record({
      type: fc.constant("not-run" as const),
      reason: fc.constantFrom("denied", "expired", "stopped", "skipped", "blocked"),
    }),
  );
  const call = fc.record({
    tool: fc.constantFrom("a", "constructor", "__proto__"),
    providerId: fc.constantFrom("", "x", "y", "call_0"),
    inputText: fc.constantFrom('{"a":1}', '{"a":', "[]", "1234567890123456789"),
    outcome,
  });
  const turn = fc.record({
    text: fc.constantFrom("", " ", "Hello"),
    calls: fc.array(call, { maxLength: 4 }),
    note: fc.constantFrom(undefined, "Note"),
    retries: fc.boolean(),
    steered: fc.boolean(),
  });
  const run = fc.record({
    turns: fc.array(turn, { maxLength: 4 }),
    outcome: fc.constantFrom("completed", "stopped", "failed", "limited"),
    cut: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 3 }), run, (earlier, last) => {
      const built = new ThreadBuilder();
      const play = ({ turns, cut }: typeof last): void => {
        built.message("Go").run();
        for (const { text, calls, note, retries, steered } of turns) {
          built.turn(note);
          if (retries) built.text("gone").half("gone").retry();
          if (text) built.text(text);
          built.end(...calls);
          if (steered) built.message("Steer");
          checkPairing(prompt(built));
        }
        if (cut) built.turn().text("cut").half("a");
      };
      for (const { outcome: ended, ...plan } of earlier) {
        play({ ...plan, outcome: ended });
        built.finish(ended);
      }
      play(last);
      const messages = prompt(built, "Be kind.");
      checkPairing(messages);
      const said = messages.filter((message) => message.role === "user").map((message) => lines([message])[0]);
      expect(said.filter((line) => line === "user: Go")).toHaveLength(earlier.length + 1);
    }),
    { numRuns: 300 },
  );
});
