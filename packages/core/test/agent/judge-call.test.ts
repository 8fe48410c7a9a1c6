import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import type { Judgement } from "../../src/agent/judge-call.ts";
import { judgeCall } from "../../src/agent/judge-call.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import type { Grant } from "../../src/protocol/thread.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

const context = { user: { id: "u" }, threadId: "t", runId: "r" };
const input = { amount: 10 };
const GRANT: Grant = { grantId: "g", tool: "act", input, scope: "thread", at: 0 };

interface Rules {
  readonly policy?: unknown;
  readonly own?: unknown;
  readonly more?: object;
  readonly grants?: readonly Grant[];
}

function judge({ policy, own, more, grants = [] }: Rules): Judgement | Promise<Judgement> {
  const act = tool({
    description: "x",
    inputSchema: z.object({ amount: z.number() }),
    approval: own as Verdict,
    ...more,
    execute: () => "ok",
  });
  const rule = typeof policy === "function" ? (policy as () => Verdict) : (): Verdict => policy as Verdict;
  const agent = defineAgent({ model: scriptedModel([]), tools: { act }, policy: rule });
  const made = agent.tools.get("act");
  if (!made) throw new Error("no tool");
  // A grant without a hash of its own is of the tool as it is now.
  const given = grants.map((grant) => ({ toolHash: made.hash, ...grant }));
  return judgeCall(agent, made, { callId: "c", input }, context, given);
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
    }
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
  ])("%s", async (_title, rules, verdict) => {
    const judgement = await judge({ grants: [GRANT], ...rules });
    expect(judgement.verdict).toBe(verdict);
    expect(judgement.grantId).toBe(verdict === "allow" ? "g" : undefined);
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
