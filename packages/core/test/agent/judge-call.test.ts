import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { agentTool } from "../../src/agent/agent-tool.ts";
import { browserTool } from "../../src/agent/browser-tool.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { Judgement, Remembered } from "../../src/agent/judge-call.ts";
import { judgeCall } from "../../src/agent/judge-call.ts";
import type { Policy } from "../../src/agent/policy.ts";
import { questionTool } from "../../src/agent/question-tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import type { Grant } from "../../src/protocol/grant.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

const context = { user: { id: "u" }, threadId: "t", runId: "r" };
const input = { amount: 10 };
const GRANT: Grant = {
  path: [],
  grantId: "g",
  seq: 1,
  verdict: "allow",
  tool: "act",
  input,
  used: 0,
  scope: "thread",
  at: 0,
};

interface Rules {
  readonly policy?: unknown;
  /** In place of `policy`. */
  readonly policies?: readonly unknown[];
  readonly own?: unknown;
  readonly more?: object;
  readonly grants?: readonly Grant[];
  readonly denied?: Remembered["denied"];
  /** In place of a tool that runs on the server. */
  readonly act?: Tool;
}

const inputSchema = z.object({ amount: z.number() });

function judge({
  policy,
  policies = [policy],
  own,
  more,
  grants = [],
  denied,
  act,
}: Rules): Judgement | Promise<Judgement> {
  const plain = { description: "x", inputSchema, approval: own as Verdict, ...more, execute: () => "ok" };
  const rules = policies.map((rule) =>
    typeof rule === "function" ? (rule as () => Verdict) : (): Verdict => rule as Verdict,
  );
  const agent = defineAgent({ model: scriptedModel([]), tools: { act: act ?? tool(plain) }, policy: rules });
  const made = agent.tools.get("act");
  if (!made) throw new Error("no tool");
  // A grant without a hash of its own is of the tool as it is now.
  const given = grants.map((grant) => ({ toolHash: made.hash, ...grant }));
  return judgeCall(agent, made, { callId: "c", input }, context, { grants: given, denied });
}

const deny = { deny: "no" };

describe("deny beats ask beats allow", () => {
  const opinions = { deny, ask: "ask", allow: "allow", none: undefined };
  const strength = { deny: 3, ask: 2, allow: 1, none: 0 };
  const names = Object.keys(opinions) as (keyof typeof opinions)[]; // the record's own keys
  const cases = names.flatMap((policy) => names.map((own) => [policy, own] as const));

  it.each(cases)("policy %s, tool %s", async (policy, own) => {
    const strongest = strength[policy] >= strength[own] ? policy : own;
    const { verdict, by } = await judge({ policy: opinions[policy], own: opinions[own] });
    expect(verdict).toBe(strongest === "none" ? "ask" : strongest);
    expect(by).toBe(strongest === "none" ? "default" : strength[policy] >= strength[own] ? "policy" : "tool");
  });

  it.each([
    ["a readOnly tool is allowed", { readOnly: true }, "allow"],
    ["any other tool asks", {}, "ask"],
    ["a destructive tool asks", { destructive: true }, "ask"],
  ])("with no opinion anywhere %s", async (_title, more, verdict) => {
    expect(await judge({ more })).toMatchObject({ verdict, by: "default" });
  });

  it("an opinion holds for a readOnly tool too", async () => {
    expect(await judge({ more: { readOnly: true }, own: "ask" })).toMatchObject({ verdict: "ask" });
    expect(await judge({ more: { readOnly: true }, policy: deny })).toMatchObject({ verdict: "deny", reason: "no" });
  });
});

describe("a rule", () => {
  it("that answers at once is judged at once", () => {
    expect(judge({ policy: "allow" })).not.toBeInstanceOf(Promise);
  });

  it.each([
    ["a promise", async () => deny],
    // biome-ignore lint/suspicious/noThenProperty: query builders look like this
    ["something like a promise", () => ({ then: (resolve: (verdict: Verdict) => void) => resolve(deny) })],
  ])("that answers with %s is waited for", async (_title, policy) => {
    expect(await judge({ policy, own: "allow" })).toMatchObject({ verdict: "deny", reason: "no" });
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["false", false],
    ["true", true],
    ["the word deny", "deny"],
    ["an empty object", {}],
    ["a list", ["allow"]],
    ["a deny that is no text", { deny: true }],
    ["an ask without options", { ask: true }],
    ["an ask of nothing", { ask: null }],
    ["an ask that is left out", { ask: undefined }],
    ["a number", 1],
    ["a function", () => () => "allow"],
    ["a modify without input", { modify: undefined }],
  ])("that answers %s denies, whatever the other one says", async (_title, wrong) => {
    for (const rules of [
      { policy: wrong, own: "allow" },
      { policy: "allow", own: () => wrong, more: { readOnly: true } },
    ]) {
      const { verdict, reason, failure } = await judge(rules);
      expect(verdict).toBe("deny");
      expect(reason).toContain("failed");
      expect(failure).toBeInstanceOf(TypeError);
      expect(String(failure)).toContain("something that is no verdict");
      const late = { policy: async () => rules.policy, own: async () => rules.own };
      expect(await judge({ ...late, own: "allow" })).toMatchObject(
        rules.policy === wrong ? { verdict: "deny", failure } : { verdict: "allow" },
      );
    }
  });

  it("that answers with an object whose `then` is no function is judged at once, and denies", () => {
    // biome-ignore lint/suspicious/noThenProperty: this is what it is about
    expect(judge({ policy: { then: "allow" }, own: "allow" })).toMatchObject({ verdict: "deny" });
  });

  it("that throws nothing at all denies too, with an error for the log", () => {
    const throwsNothing = (): never => {
      throw undefined;
    };
    const { failure } = judge({ policy: throwsNothing }) as Judgement; // it is judged at once
    expect(failure).toEqual(new Error("no reason"));
  });

  it("sees the call and who asked for it", async () => {
    const policy = vi.fn(() => "allow");
    const own = vi.fn(() => "allow");
    expect(await judge({ policy, own, more: { destructive: true } })).toEqual({ verdict: "allow", by: "policy" });
    expect(policy).toHaveBeenCalledExactlyOnceWith(
      { tool: "act", input, callId: "c", readOnly: false, destructive: true },
      context,
    );
    expect(own).toHaveBeenCalledExactlyOnceWith(input, context);
  });

  it("of the tool may be a function of its input", async () => {
    const own = (given: { amount: number }): Verdict => (given.amount > 9 ? "ask" : "allow");
    expect(await judge({ own })).toMatchObject({ verdict: "ask", by: "tool" });
    expect(await judge({ own: () => "allow" })).toMatchObject({ verdict: "allow", by: "tool" });
  });

  it("that throws denies with our words and keeps its own", async () => {
    const error = new Error("db password");
    const throws = () => {
      throw error;
    };
    for (const policy of [throws, async () => throws()]) {
      const judgement = await judge({ policy, own: "allow" });
      expect(judgement).toMatchObject({ verdict: "deny", failure: error });
      expect(judgement.reason).not.toContain("password");
    }
  });
});

describe("of several policies", () => {
  it.each<[string, readonly unknown[], object]>([
    [
      "the first that denies gives the reason",
      ["allow", { deny: "one" }, { deny: "two" }],
      { verdict: "deny", reason: "one" },
    ],
    ["one that denies beats those that ask or allow", ["ask", "allow", deny], { verdict: "deny", reason: "no" }],
    ["one that asks beats those that allow", ["allow", { ask: { reason: "why" } }], { verdict: "ask", reason: "why" }],
    [
      "the first that asks says how",
      [undefined, { ask: { reason: "one" } }, { ask: { reason: "two" } }],
      { verdict: "ask", reason: "one" },
    ],
    ["one that allows is enough where nobody else minds", [undefined, "allow"], { verdict: "allow" }],
    ["one that waits is waited for", ["allow", async () => deny], { verdict: "deny" }],
    ["the first that changes the input is the one", [{ modify: 1 }, { modify: 2 }], { verdict: "modify", modified: 1 }],
    ["no opinion of all is none", [undefined, undefined], { verdict: "ask", by: "default" }],
  ])("%s", async (_title, policies, judgement) => {
    expect(await judge({ policies })).toMatchObject({ by: "policy", ...judgement });
  });

  it("none at all is no opinion", async () => {
    expect(await judge({ policies: [] })).toMatchObject({ verdict: "ask", by: "default" });
    expect(await judge({ policies: [], own: "allow" })).toMatchObject({ verdict: "allow", by: "tool" });
  });
});

describe("a changed input", () => {
  const modify = { modify: { amount: 1 } };
  const changed = { verdict: "modify", modified: { amount: 1 } };

  it.each<[string, Rules, object]>([
    ["runs without asking", { policy: modify }, { ...changed, by: "policy", ask: undefined }],
    ["is the tool's own as well", { own: modify }, { ...changed, by: "tool", ask: undefined }],
    [
      "asks where the same rule asks",
      { policy: { ...modify, ask: { reason: "why" } } },
      { ...changed, by: "policy", ask: { reason: "why" } },
    ],
    ["of the tool asks too", { own: { ...modify, ask: {} } }, { ...changed, by: "tool", ask: { editable: true } }],
    [
      "does not ask where `ask` is left undefined",
      { policy: { ...modify, ask: undefined } },
      { ...changed, ask: undefined },
    ],
    [
      "asks where another rule asks",
      { policy: modify, own: "ask" },
      { ...changed, by: "policy", ask: { editable: true } },
    ],
    ["may be nothing", { policy: { modify: null } }, { verdict: "modify", modified: null }],
    ["is not run where another rule denies", { policy: modify, own: deny }, { verdict: "deny", by: "tool" }],
    ["of a tool that only reads runs", { policy: modify, more: { readOnly: true } }, { ...changed, ask: undefined }],
  ])("%s", async (_title, rules, judgement) => {
    expect({ ask: undefined, ...(await judge(rules)) }).toMatchObject(judgement);
  });
});

describe("a tool that does not run here", () => {
  const description = "x";
  const helper = defineAgent({ model: scriptedModel([]) });
  const tools = {
    question: questionTool({ description, inputSchema, answerSchema: z.string() }),
    agent: agentTool({ description, inputSchema, agent: helper }),
    "destructive agent": agentTool({ description, inputSchema, agent: helper, destructive: true }),
    browser: browserTool({ description, inputSchema, outputSchema: z.string() }),
    "reading browser": browserTool({ description, inputSchema, outputSchema: z.string(), readOnly: true }),
  };

  it.each<[string, keyof typeof tools, unknown, object]>([
    ["is itself the asking", "question", undefined, { verdict: "allow", by: "default" }],
    ["is not asked about, whatever a policy says", "question", "ask", { verdict: "allow" }],
    ["may be denied", "question", deny, { verdict: "deny" }],
    ["may be changed", "question", { modify: { amount: 1 } }, { verdict: "modify", ask: undefined }],
    ["asks for itself", "agent", undefined, { verdict: "allow", by: "default" }],
    ["is asked about where a policy wants that", "agent", "ask", { verdict: "ask", by: "policy" }],
    ["may be denied", "agent", deny, { verdict: "deny" }],
    ["is asked about", "destructive agent", undefined, { verdict: "ask", by: "default" }],
    ["is asked about", "browser", undefined, { verdict: "ask", by: "default" }],
    ["may be allowed", "browser", "allow", { verdict: "allow", by: "policy" }],
    ["is allowed", "reading browser", undefined, { verdict: "allow", by: "default" }],
  ])("%s: %s, policy %j", async (_title, kind, policy, judgement) => {
    expect({ ask: undefined, ...(await judge({ act: tools[kind], policy })) }).toMatchObject(judgement);
  });
});

describe("a grant", () => {
  it.each<[string, Rules, string]>([
    ["allows what would ask", {}, "allow"],
    ["allows what a policy would ask about", { policy: "ask" }, "allow"],
    ["does not allow what is denied", { policy: deny }, "deny"],
    ["does not allow a destructive tool", { more: { destructive: true } }, "ask"],
    ["does not allow what a policy changes", { policy: { modify: { amount: 1 }, ask: {} } }, "modify"],
    ["of another input allows nothing", { grants: [{ ...GRANT, input: { amount: 11 } }] }, "ask"],
    ["of the tool as it was before it changed allows nothing", { grants: [{ ...GRANT, toolHash: "old" }] }, "ask"],
    ["of another tool allows nothing", { grants: [{ ...GRANT, tool: "other" }] }, "ask"],
    ["is found among others", { grants: [{ ...GRANT, grantId: "h", input: 1 }, GRANT] }, "allow"],
  ])("%s", async (_title, rules, verdict) => {
    const judgement = await judge({ grants: [GRANT], ...rules });
    expect(judgement.verdict).toBe(verdict);
    expect(judgement.grantId).toBe(verdict === "allow" ? "g" : undefined);
    if (verdict === "allow") expect(judgement).toEqual({ verdict, by: "grant", grantId: "g" });
  });
});

describe("how a person is asked", () => {
  it.each<[string, Rules, object]>([
    ["by default it may be edited, once or for this run", {}, { editable: true, scopes: ["once", "run"] }],
    [
      "a destructive tool is once only, whatever the rule offers",
      { more: { destructive: true }, own: { ask: { scopes: ["thread"] } } },
      { scopes: ["once"] },
    ],
    [
      "the rule's own words are kept",
      { own: { ask: { editable: ["amount"], reason: "Moves money.", expiresInMs: 5 } } },
      { editable: ["amount"], reason: "Moves money.", expiresInMs: 5 },
    ],
  ])("%s", async (_title, rules, ask) => {
    expect((await judge(rules)).ask).toMatchObject(ask);
  });
});

it("what one policy changes of the input, the next does not take for the call", () => {
  const careless: Policy = (seen) => {
    (seen.input as unknown as { amount: number }).amount = 1;
    return undefined;
  };
  const guard: Policy = (seen) =>
    (seen.input as unknown as { amount: number }).amount > 5 ? { deny: "too much" } : "allow";
  const act = tool({ description: "Acts.", inputSchema: z.object({ amount: z.number() }), execute: () => "ok" });
  const agent = defineAgent({ model: scriptedModel([]), tools: { act }, policy: [careless, guard] });
  const known = agent.tools.get("act");
  if (!known) throw new Error("There is no tool act.");
  expect(judgeCall(agent, known, { callId: "c", input: { amount: 10 } }, context)).toMatchObject({
    verdict: "deny",
  });
});
