import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { explainPolicy } from "../../src/agent/explain-policy.ts";
import type { Policy } from "../../src/agent/policy.ts";
import type { ToolOptions } from "../../src/agent/tool.ts";
import { tool } from "../../src/agent/tool.ts";
import type { Verdict } from "../../src/agent/verdict.ts";
import type { Grant } from "../../src/protocol/grant.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

const inputSchema = z.object({ amount: z.number(), note: z.string().default("none") });
const user = { id: "mia" };
const call = { tool: "refund", input: { amount: 10 }, user };

let ran = 0;

function shop(options: Partial<ToolOptions<typeof inputSchema, string>> = {}, ...policy: readonly Policy[]) {
  const execute = () => String(++ran);
  const refund = tool({ description: "Refunds.", inputSchema, execute, ...options });
  return defineAgent({ model: scriptedModel([]), tools: { refund }, policy });
}

const says = (verdict: Verdict): Policy => {
  return () => verdict;
};

describe("explainPolicy", () => {
  it("says what each rule said and what follows, and runs nothing", async () => {
    const agent = shop({ approval: { ask: { reason: "Moves money." } } }, says("allow"), says(undefined));
    const explained = await explainPolicy(agent, call);
    expect(explained).toMatchObject({ verdict: "ask", by: "tool", ask: { scopes: ["once", "run"], editable: true } });
    expect(explained.text).toBe(
      [
        'refund {"amount":10}',
        "  policy 1: allow",
        "  policy 2: no opinion",
        '  approval of refund: ask {"reason":"Moves money."}',
        "  => ask (by tool): Moves money.",
        "     scopes once, run; editable true",
      ].join("\n"),
    );
    expect(ran).toBe(0);
  });

  it.each<[string, ReturnType<typeof shop>, object]>([
    ["what nobody has a rule for", shop(), { verdict: "ask", by: "default" }],
    ["what only reads", shop({ readOnly: true }), { verdict: "allow", by: "default" }],
    ["a denial", shop({}, says({ deny: "no" })), { verdict: "deny", by: "policy", reason: "no" }],
    [
      "a change",
      shop({}, says({ modify: { amount: 1 }, ask: {} })),
      { verdict: "modify", modified: { amount: 1 }, ask: { editable: true } },
    ],
    [
      "a rule that fails",
      shop({
        approval: () => {
          throw new Error("The database is down.");
        },
      }),
      { verdict: "deny", rules: [{ said: "failed, so it denies: The database is down." }] },
    ],
  ])("explains %s", async (_title, agent, expected) => {
    expect(await explainPolicy(agent, call)).toMatchObject(expected);
  });

  it.each([
    ["an input that does not fit", { ...call, input: {} }, "invalid-input"],
    ["a tool that is not there", { ...call, tool: "constructor" }, "unknown-tool"],
  ])("calls %s invalid, with the reason", async (_title, given, by) => {
    const explained = await explainPolicy(shop({}, says("allow")), given);
    expect(explained).toMatchObject({ verdict: "invalid", by, rules: [], reason: expect.any(String) });
  });

  it("counts grants, unless the tool was denied later", async () => {
    const agent = shop();
    const toolHash = agent.tools.get("refund")?.hash;
    const input = { amount: 10, note: "none" };
    const grant: Grant = {
      ...{ grantId: "g", seq: 1, verdict: "allow", path: [], tool: "refund", toolHash, input },
      ...{ used: 0, scope: "run", at: 0 },
    };
    const granted = await explainPolicy(agent, { ...call, grants: [grant] });
    expect(granted).toMatchObject({ verdict: "allow", by: "grant" });
    const denied = await explainPolicy(agent, { ...call, grants: [grant], denied: true });
    expect(denied).toMatchObject({ verdict: "ask", by: "denied" });
  });
});

describe("a tool's annotations", () => {
  it("reach policies as hints, and allow nothing", async () => {
    const seen: unknown[] = [];
    const annotations = { readOnlyHint: true, openWorldHint: false };
    const agent = shop({ annotations }, (given) => void seen.push(given.annotations));
    expect(await explainPolicy(agent, call)).toMatchObject({ verdict: "ask", by: "default" });
    expect(seen).toEqual([annotations]);
  });

  it.each<[string, Partial<ToolOptions<typeof inputSchema, string>>, boolean]>([
    ["make it destructive", {}, true],
    ["do not, where the app says otherwise", { destructive: false }, false],
    ["do not, where the app says that it only reads", { readOnly: true }, false],
  ])("%s", (_title, options, destructive) => {
    const agent = shop({ annotations: { destructiveHint: true, title: "Refund" }, ...options });
    expect(agent.tools.get("refund")?.tool).toMatchObject({ destructive, title: "Refund" });
  });
});
