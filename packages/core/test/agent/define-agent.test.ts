import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Tool } from "../../src/agent/agent.ts";
import { checkCall } from "../../src/agent/check-call.ts";
import type { AgentOptions } from "../../src/agent/define-agent.ts";
import { defineAgent } from "../../src/agent/define-agent.ts";
import { tool } from "../../src/agent/tool.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

const model = scriptedModel([]);
const act = tool({ description: "x", inputSchema: z.object({}), execute: () => "ok" });

function toolWith(more: object): Tool {
  return tool({ description: "x", inputSchema: z.object({}), execute: () => "ok", ...more });
}

describe("a setting that makes no sense is refused where it is written", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["no turns", () => defineAgent({ model, limits: { turns: 0 } }), /limits\.turns.*it is 0/],
    ["half a turn", () => defineAgent({ model, limits: { turns: 1.5 } }), /limits\.turns.*1\.5/],
    ["turns that are no number", () => defineAgent({ model, limits: { turns: Number.NaN } }), /limits\.turns.*NaN/],
    ["no calls", () => defineAgent({ model, limits: { calls: -1 } }), /limits\.calls.*-1/],
    ["no time", () => defineAgent({ model, limits: { timeMs: 0 } }), /limits\.timeMs.*it is 0/],
    ["no concurrency", () => defineAgent({ model, concurrency: 0 }), /concurrency.*it is 0/],
    ["no attempts", () => defineAgent({ model, modelAttempts: 0 }), /modelAttempts.*it is 0/],
    ["no patience", () => defineAgent({ model, modelSilenceMs: -5 }), /modelSilenceMs.*-5/],
    ["a tool that is none", () => defineAgent({ model, tools: { act: {} as Tool } }), /tools\.act is not a tool/],
    [
      "a tool that is missing",
      () => defineAgent({ model, tools: { act: undefined as unknown as Tool } }),
      /tools\.act is not a tool/,
    ],
    ["an empty name", () => defineAgent({ model, tools: { "": act } }), /1 to 200 characters/],
    ["a name too long", () => defineAgent({ model, tools: { ["a".repeat(201)]: act } }), /1 to 200 characters/],
    ["a repetition of one", () => defineAgent({ model, limits: { repeats: 1 } }), /limits.repeats.*it is 1/],
    ["no failures", () => defineAgent({ model, limits: { failures: 0 } }), /limits.failures.*it is 0/],
    ["no tokens", () => defineAgent({ model, limits: { tokens: 0 } }), /limits.tokens.*it is 0/],
    ["no depth", () => defineAgent({ model, limits: { depth: 0 } }), /limits.depth.*it is 0/],
    ["no timeout", () => toolWith({ timeoutMs: 0 }), /timeoutMs.*it is 0/],
    ["a timeout that is no number", () => toolWith({ timeoutMs: Number.NaN }), /timeoutMs.*NaN/],
    ["retries below zero", () => toolWith({ maxRetries: -1 }), /maxRetries.*-1/],
    [
      "a tool that changes nothing and destroys",
      () => toolWith({ readOnly: true, destructive: true }),
      /readOnly: true and destructive: true/,
    ],
    ["a schema of dates", () => toolWith({ inputSchema: z.object({ at: z.date() }) }), /plain JSON/],
    [
      "a schema that transforms",
      () => toolWith({ inputSchema: z.object({ at: z.string().transform(Number) }) }),
      /plain JSON/,
    ],
    ["no schema", () => toolWith({ inputSchema: undefined }), /schema/],
    ["no model", () => defineAgent({} as AgentOptions<Record<never, Tool>>), /model/],
  ])("%s", (_title, make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });

  it("more turns than 250 are 250", () => {
    expect(defineAgent({ model, limits: { turns: 1_000 } }).rules.limits.turns).toBe(250);
  });
});

describe("a tool's hash", () => {
  const hashOf = (more: object): string =>
    defineAgent({ model, tools: { act: toolWith(more) } }).tools.get("act")?.hash ?? "";

  it.each([
    ["its description", { description: "y" }],
    ["its title", { title: "Act" }],
    ["its timeout", { timeoutMs: 5 }],
    ["its rule", { approval: "allow" }],
  ])("does not change with %s", (_title, more) => {
    expect(hashOf(more)).toBe(hashOf({}));
  });

  it.each([
    ["its schema", { inputSchema: z.object({ id: z.string() }) }],
    ["readOnly", { readOnly: true }],
    ["destructive", { destructive: true }],
  ])("changes with %s", (_title, more) => {
    expect(hashOf(more)).not.toBe(hashOf({}));
  });
});

describe("checkCall", () => {
  const agentWith = (inputSchema: z.ZodType) => defineAgent({ model, tools: { act: toolWith({ inputSchema }) } });

  it("takes no text for no arguments, as some providers send it", async () => {
    expect(await checkCall(agentWith(z.object({})), "act", "  ")).toMatchObject({ ok: true, input: {} });
  });

  it("says where each problem is", async () => {
    const schema = z.object({ order: z.object({ id: z.string() }), amounts: z.array(z.number()) });
    const checked = await checkCall(agentWith(schema), "act", '{"order":{"id":1},"amounts":[1,"2"]}');
    expect(checked).toMatchObject({ ok: false, error: { code: "invalid-input" } });
    const paths = checked.ok ? [] : checked.error.issues?.map(({ path }) => path.join("."));
    expect(paths).toEqual(["order.id", "amounts.1"]);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("db password");
      },
    ],
    ["rejects", () => Promise.reject(new Error("db password"))],
  ])("refuses the call of a schema that %s, in our words", async (_title, validate) => {
    const base = z.object({})["~standard"];
    const schema = { "~standard": { ...base, jsonSchema: base.jsonSchema, validate } };
    const agent = defineAgent({ model, tools: { act: toolWith({ inputSchema: schema }) } });
    const checked = await checkCall(agent, "act", "{}");
    expect(checked).toMatchObject({ ok: false, error: { code: "invalid-input" } });
    expect(JSON.stringify(checked)).not.toContain("password");
  });

  it("keeps a key __proto__ as a key of nobody", async () => {
    const checked = await checkCall(agentWith(z.object({})), "act", '{"__proto__":{"admin":true}}');
    expect(checked.ok && (checked.input as { admin?: unknown }).admin).toBe(undefined);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});
