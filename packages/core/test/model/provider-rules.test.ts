import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { PROVIDER_RULES_AS_OF, rulesOf, wireCallId } from "../../src/model/provider-rules.ts";

describe("rulesOf", () => {
  it.each([
    ["openai.chat", "a".repeat(41), false],
    ["azure.chat", "a".repeat(41), false],
    ["openai.chat", "functions.find:0", true],
    ["openai.responses", "a".repeat(64), true],
    ["openai.responses", "functions.find:0", false],
    ["anthropic.messages", "toolu_01-a", true],
    ["vertex.anthropic.messages", "functions.find:0", false],
    ["amazon-bedrock", "functions.find:0", false],
    ["mistral.chat", "D681PevKs", true],
    ["mistral.chat", "call_a", false],
    ["groq.chat", "functions.find:0", true],
    ["somebody.chat", "a".repeat(65), false],
    ["somebody.chat", "", false],
  ])("%s: the id %s is taken as it is: %s", (origin, id, asIs) => {
    const rules = rulesOf(origin);
    expect(wireCallId(id, rules) === id).toBe(asIs);
    expect(rules.callId.legal.test(wireCallId(id, rules))).toBe(true);
    expect(wireCallId(id, rules)).toBe(wireCallId(id, rules));
  });

  it("keeps ids apart that it has to change", () => {
    const rules = rulesOf("mistral.chat");
    const made = Array.from({ length: 10_000 }, (_, n) => wireCallId(`call_${n}`, rules));
    expect(new Set(made).size).toBe(10_000);
    expect(made.every((id) => rules.callId.legal.test(id))).toBe(true);
  });
});

test("docs/models.md shows the table's day", () => {
  const page = readFileSync(new URL("../../../../docs/models.md", import.meta.url), "utf8");
  expect(page).toContain(PROVIDER_RULES_AS_OF);
});
