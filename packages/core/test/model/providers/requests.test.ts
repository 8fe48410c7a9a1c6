import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { jsonSchemaOf } from "../../../src/agent/schema.ts";
import { toModel } from "../../../src/model/ai-sdk.ts";
import type { ModelMessage, ModelPart, ToolSpec } from "../../../src/model/model.ts";
import { wireToolName } from "../../../src/model/tool-name.ts";
import type { Json, OpaqueBlock } from "../../../src/protocol/values.ts";
import { readAll } from "../read-all.ts";
import type { ByteServer } from "./byte-server.ts";
import { startByteServer } from "./byte-server.ts";
import { fixture, fixturesOf } from "./bytes.ts";
import { checkRequest } from "./check-request.ts";
import type { Compatible, Dialect, Generation } from "./dialects.ts";
import { COMPATIBLE, DIALECTS, GENERATIONS, modelOf } from "./dialects.ts";
import { play } from "./play.ts";

let server: ByteServer;
beforeAll(async () => {
  server = await startByteServer();
});
afterAll(() => server.stop());

type Speaks = Dialect | Compatible;
const SPEAKERS: readonly Speaks[] = [...DIALECTS, ...COMPATIBLE];
const answerIn = (speaks: Speaks): Dialect => DIALECTS.find((dialect) => dialect === speaks) ?? "openai-chat";

// biome-ignore lint/suspicious/noExplicitAny: bodies of five dialects
type Body = any;

/** The body that a history becomes on the wire. */
async function sentFor(
  speaks: Speaks,
  generation: Generation,
  messages: readonly ModelMessage[],
  tools: readonly ToolSpec[] = [],
): Promise<Body> {
  server.answer(fixture(answerIn(speaks), "text"));
  await readAll(toModel(modelOf(speaks, generation, { url: server.url })), { messages, tools });
  return server.sent[0]?.body;
}

const said = (text: string): ModelMessage => ({ role: "user", parts: [{ type: "text", text }] });
const calls = (
  ids: readonly string[],
  more: { text?: string; name?: string; inputText?: string; opaque?: OpaqueBlock[] } = {},
): ModelMessage => ({
  role: "assistant",
  parts: [
    ...(more.text === undefined ? [] : [{ type: "text", text: more.text } as const]),
    ...ids.map(
      (id) =>
        ({
          type: "call",
          id,
          name: more.name ?? "find_order",
          inputText: more.inputText ?? '{"orderId":"1042"}',
        }) as const,
    ),
  ],
  opaque: more.opaque,
});
const results = (ids: readonly string[], output: Json = { total: 49.9 }, name = "find_order"): ModelMessage => ({
  role: "tool",
  results: ids.map((id) => ({ id, name, output, isError: false })),
});

const LONG = `call_${"x".repeat(80)}`;
/** Histories that the loop makes, and ids and contents of any origin. */
const HISTORIES: Readonly<Record<string, readonly ModelMessage[]>> = {
  "a call and its result": [said("Go"), calls(["call_a"]), results(["call_a"])],
  "two parallel calls": [said("Go"), calls(["call_a", "call_b"], { text: "I look." }), results(["call_a", "call_b"])],
  "a note after results": [said("Go"), calls(["call_a"]), results(["call_a"]), said("[Note] Denied.")],
  "two notes after results, and a later turn": [
    said("Go"),
    calls(["a1"]),
    results(["a1"]),
    said("One"),
    said("Two"),
    calls(["a2"]),
    results(["a2"]),
  ],
  "a run that failed before another": [said("Go"), said("[Note] It ended early."), said("Again")],
  "an answer that said nothing": [
    said("Go"),
    { role: "assistant", parts: [{ type: "text", text: " \n" }] },
    said("And?"),
  ],
  "ids with dots and colons": [
    said("Go"),
    calls(["functions.find:0", "functions.find:1"]),
    results(["functions.find:0", "functions.find:1"]),
  ],
  "ids that are long": [said("Go"), calls([LONG, `${LONG}2`]), results([LONG, `${LONG}2`])],
  "ids of nine characters": [said("Go"), calls(["D681PevKs"]), results(["D681PevKs"])],
  "arguments that are no JSON": [
    said("Go"),
    calls(["call_a"], { inputText: "{orderId:" }),
    results(["call_a"], "The arguments are not valid JSON."),
  ],
  "arguments that are a list": [
    said("Go"),
    calls(["call_a"], { inputText: "[1]" }),
    results(["call_a"], "They do not fit."),
  ],
  "no arguments": [said("Go"), calls(["call_a"], { inputText: "{}" }), results(["call_a"])],
  "a result of nothing": [said("Go"), calls(["call_a"]), results(["call_a"], null)],
  "a result of an empty text": [said("Go"), calls(["call_a"]), results(["call_a"], "")],
  "[H20] a result with a reference": [
    said("Go"),
    calls(["call_a"]),
    results(["call_a"], { $ref: "#/x", list: [{ $ref: "y" }] }),
  ],
  "[H06] results that hold a picture": [
    said("Go"),
    calls(["call_a", "call_b"]),
    results(["call_a", "call_b"], { type: "image", data: "aGk=" }),
  ],
  "[H21] a name no provider takes": [
    said("Go"),
    calls(["call_a"], { name: wireToolName("Github.Get File!") }),
    results(["call_a"], 1, wireToolName("Github.Get File!")),
  ],
  "[H23] a turn of calls without text, twice": [
    said("Go"),
    calls(["a1"]),
    results(["a1"]),
    calls(["a2"]),
    results(["a2"]),
  ],
};

describe.each(SPEAKERS)("%s: the next request", (speaks) => {
  describe.each(GENERATIONS)("by the package of spec %s", (generation) => {
    it.each(Object.entries(HISTORIES))("[H+] %s", async (_title, messages) => {
      expect(checkRequest(speaks, await sentFor(speaks, generation, messages))).toEqual([]);
    });

    const withCalls = fixturesOf(speaks).filter(
      (name) => /call|arguments|reasoning|id|tools/.test(name) && !/error|cut|garbage|as-text/.test(name),
    );
    it.each(withCalls)("[H+] after %s, as the loop sends it", async (name) => {
      server.answer(fixture(speaks, name), fixture(answerIn(speaks), "text"));
      await play(modelOf(speaks, generation, { url: server.url }), { instructions: "Be kind.", modelAttempts: 1 });
      for (const { body } of server.sent) expect(checkRequest(speaks, body)).toEqual([]);
    });
  });
});

describe.each(GENERATIONS)("what goes back to whom, %s", (generation) => {
  const blocksOf = async (
    speaks: Speaks,
    name: string,
  ): Promise<{ parts: ModelPart[]; opaque: OpaqueBlock[]; ids: string[] }> => {
    server.answer(fixture(speaks, name));
    const parts = await readAll(toModel(modelOf(speaks, generation, { url: server.url })), {
      messages: [said("Go")],
      tools: [],
    });
    return {
      parts,
      opaque: parts.flatMap((part) => (part.type === "opaque" ? [part.block] : [])),
      ids: parts.flatMap((part) => (part.type === "call" ? [part.id] : [])),
    };
  };
  const after = async (from: Speaks, name: string, to: Speaks = from) => {
    const { opaque, ids } = await blocksOf(from, name);
    return sentFor(to, generation, [said("Go"), calls(ids, { opaque }), results(ids)]);
  };

  it("[H09] Anthropic gets its thinking back, signed, redacted and empty, in front of the call", async () => {
    const use = { type: "tool_use", id: "toolu_a" };
    expect((await after("anthropic", "reasoning")).messages[1].content).toMatchObject([
      { type: "thinking", thinking: "Look it up.", signature: "c2lnbmVk" },
      { type: "redacted_thinking", data: "c2VjcmV0" },
      use,
    ]);
    expect((await after("anthropic", "reasoning-empty")).messages[1].content).toMatchObject([
      { type: "thinking", thinking: "", signature: "c2lnbmVk" },
      use,
    ]);
  });

  it("[H10] thinking that is not whole is left out, never sent blank", async () => {
    const { ids } = await blocksOf("anthropic", "reasoning");
    const half: OpaqueBlock = { origin: "anthropic.messages", data: [{ type: "reasoning", text: "Look" }] };
    const body = await sentFor("anthropic", generation, [said("Go"), calls(ids, { opaque: [half] }), results(ids)]);
    expect(body.messages[1].content).toMatchObject([{ type: "tool_use" }]);
    expect(checkRequest("anthropic", body)).toEqual([]);
  });

  it.each([
    ["gemini", "reasoning", "anthropic"],
    ["anthropic", "reasoning", "gemini"],
    ["anthropic", "reasoning", "openai-chat"],
    ["openai-responses", "reasoning", "anthropic"],
    ["deepseek", "reasoning", "mistral"],
  ] as const)("[H11] what %s signed in %s does not reach %s, and its call does", async (from, name, to) => {
    const body = await after(from, name, to);
    const text = JSON.stringify(body);
    for (const foreign of ["c2lnbmVk", "c2VjcmV0", "Look it up.", "gAAA", "rs_0"]) expect(text).not.toContain(foreign);
    expect(text).toContain("1042");
    expect(checkRequest(to, body)).toEqual([]);
  });

  it("[H12] Gemini gets the calls of one answer in one content, the signature on the first", async () => {
    const body = await after("gemini", "two-calls");
    expect(body.contents).toHaveLength(3);
    expect(body.contents[1].parts).toMatchObject([
      { functionCall: { name: "find_order" }, thoughtSignature: "c2lnbmVk" },
      { functionCall: { name: "find_order" } },
    ]);
    expect(body.contents[1].parts[1]).not.toHaveProperty("thoughtSignature");
  });

  it("[H14] DeepSeek gets its reasoning text back on turns with calls", async () => {
    expect((await after("deepseek", "reasoning")).messages[1]).toMatchObject({
      reasoning_content: "Look it up.",
      tool_calls: [{ id: "call_00_a" }],
    });
  });

  it("[H15] Mistral gets ids of nine characters, its own as they are, any other always the same one", async () => {
    const own = await after("mistral", "one-call");
    expect(own.messages[1].tool_calls[0].id).toBe("D681PevKs");
    const foreign = await after("openai-chat", "two-calls", "mistral");
    const ids = foreign.messages[1].tool_calls.map((call: { id: string }) => call.id);
    expect(ids.every((id: string) => /^[A-Za-z0-9]{9}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(2);
    expect(foreign.messages.slice(2).map((message: { tool_call_id: string }) => message.tool_call_id)).toEqual(ids);
    expect(await after("openai-chat", "two-calls", "mistral")).toEqual(foreign);
  });

  it("[H16] OpenAI gets arguments as a text that is JSON, also where the model wrote none", async () => {
    const body = await after("openai-chat", "malformed-arguments");
    const text = body.messages[1].tool_calls[0].function.arguments;
    expect(typeof text).toBe("string");
    expect(JSON.parse(text)).toBeTypeOf("object");
  });

  it("a person's word after results waits for one of the assistant's where Mistral wants that, and only there", async () => {
    const messages = HISTORIES["a note after results"] ?? [];
    const roles = async (speaks: Speaks) =>
      (await sentFor(speaks, generation, messages)).messages.map(({ role }: { role: string }) => role);
    expect(await roles("mistral")).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(await roles("groq")).toEqual(["user", "assistant", "tool", "user"]);
  });
});

describe.each(GENERATIONS)("schemas, %s", (generation) => {
  const spec = (schema: z.ZodType): ToolSpec => ({
    name: "act",
    description: "Acts.",
    inputSchema: jsonSchemaOf(schema, "act"),
  });
  const wide = z.object({
    kind: z.literal("refund"),
    amount: z.number().positive(),
    email: z.email(),
    code: z
      .string()
      .min(2)
      .max(9)
      .regex(/^[A-Z]+$/)
      .describe("The code."),
    tags: z.record(z.string(), z.string()),
    pair: z.tuple([z.string(), z.int()]),
    list: z
      .array(z.object({ sku: z.string().length(3), note: z.string().nullable() }))
      .min(1)
      .max(3),
    pages: z.number().optional(),
    when: z.string().default("now"),
    way: z.discriminatedUnion("by", [
      z.object({ by: z.literal("card") }),
      z.object({ by: z.literal("bank"), iban: z.string() }),
    ]),
  });
  const choice = z.discriminatedUnion("by", [
    z.object({ by: z.literal("card"), last4: z.string() }),
    z.object({ by: z.literal("bank"), iban: z.string() }),
  ]);

  it.each(SPEAKERS)("[M+ M03] a wide schema reaches %s with keywords it knows", async (speaks) => {
    const body = await sentFor(speaks, generation, [said("Go")], [spec(wide)]);
    expect(checkRequest(speaks, body)).toEqual([]);
  });

  it.each(SPEAKERS)("a choice between objects reaches %s as one object", async (speaks) => {
    const body = await sentFor(speaks, generation, [said("Go")], [spec(choice)]);
    expect(checkRequest(speaks, body)).toEqual([]);
    for (const word of ["last4", "iban", "card", "bank"]) expect(JSON.stringify(body.tools)).toContain(word);
  });

  it("[M03] what Gemini has no keyword for is said in the description", async () => {
    const body = await sentFor("gemini", generation, [said("Go")], [spec(wide)]);
    const { description, ...declaration } = body.tools[0].functionDeclarations[0];
    const { properties } = declaration.parameters ?? declaration.parametersJsonSchema;
    expect(description).toBe("Acts.");
    expect(properties.kind.enum).toEqual(["refund"]);
    expect(properties.amount.description).toBe("exclusiveMinimum: 0");
    expect(properties.code.description).toMatch(/^The code\. \(minLength: 2, maxLength: 9, pattern: /);
  });

  it("[M02 M04] nobody is asked for a strict schema, and who is strict unless told is told", async () => {
    for (const speaks of ["openai-responses", "openai-chat"] as const) {
      const body = await sentFor(speaks, generation, [said("Go")], [spec(wide)]);
      const [tool] = body.tools;
      expect((tool.function ?? tool).strict).toBe(false);
      expect((tool.function ?? tool).parameters.required).not.toContain("pages");
    }
  });
});

describe("the checks themselves", () => {
  const chatBody = (messages: object[]) => ({ messages: [{ role: "user", content: "Go" }, ...messages] });
  const call = (id: string, args: unknown = "{}") => ({
    id,
    type: "function",
    function: { name: "act", arguments: args },
  });
  const turn = (...list: object[]) => ({ role: "assistant", content: null, tool_calls: list });
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
  const use = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "act", input });
  const given = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" });
  const claude = (...messages: object[]) => ({
    messages: [{ role: "user", content: [{ type: "text", text: "Go" }] }, ...messages],
  });
  const model = (...parts: object[]) => ({ role: "model", parts });
  const person = (...parts: object[]) => ({ role: "user", parts });
  const google = (...contents: object[]) => ({ contents: [person({ text: "Go" }), ...contents] });
  const asked = { functionCall: { name: "act", args: {} }, thoughtSignature: "s" };
  const told = { functionResponse: { name: "act", response: {} } };

  it.each([
    ["openai-chat", "a call without a result", chatBody([turn(call("a"))])],
    ["openai-chat", "results in another order", chatBody([turn(call("a"), call("b")), result("b"), result("a")])],
    ["openai-chat", "two results of one call", chatBody([turn(call("a")), result("a"), result("a")])],
    ["openai-chat", "an id twice", chatBody([turn(call("a"), call("a")), result("a"), result("a")])],
    ["openai-chat", "an id that is too long", chatBody([turn(call("a".repeat(41))), result("a".repeat(41))])],
    ["openai-chat", "arguments that are an object", chatBody([turn(call("a", {})), result("a")])],
    ["openai-chat", "arguments that are broken", chatBody([turn(call("a", "{")), result("a")])],
    ["openai-chat", "an assistant's message with nothing in it", chatBody([{ role: "assistant", content: "" }])],
    ["mistral", "a long id", chatBody([turn(call("call_a")), result("call_a")])],
    [
      "mistral",
      "a user after results",
      chatBody([turn(call("D681PevKs")), result("D681PevKs"), { role: "user", content: "x" }]),
    ],
    [
      "deepseek",
      "reasoning on some turns",
      chatBody([{ ...turn(call("a")), reasoning_content: "x" }, result("a"), turn(call("b")), result("b")]),
    ],
    [
      "openai-responses",
      "a call without an output",
      { input: [{ type: "function_call", call_id: "a", name: "act", arguments: "{}" }] },
    ],
    [
      "openai-responses",
      "an output without a call",
      { input: [{ type: "function_call_output", call_id: "a", output: "x" }] },
    ],
    [
      "openai-responses",
      "a schema that is strict unless told",
      { input: [], tools: [{ name: "act", parameters: { type: "object" } }] },
    ],
    ["openai-responses", "reasoning alone", { input: [{ type: "item_reference", id: "rs_0" }] }],
    ["anthropic", "a call without a result", claude({ role: "assistant", content: [use("a")] })],
    [
      "anthropic",
      "a result behind a text",
      claude(
        { role: "assistant", content: [use("a")] },
        { role: "user", content: [{ type: "text", text: "x" }, given("a")] },
      ),
    ],
    [
      "anthropic",
      "one result of two",
      claude({ role: "assistant", content: [use("a"), use("b")] }, { role: "user", content: [given("a")] }),
    ],
    ["anthropic", "two messages of one role", claude({ role: "user", content: [{ type: "text", text: "x" }] })],
    ["anthropic", "a blank text", claude({ role: "assistant", content: [{ type: "text", text: " " }] })],
    [
      "anthropic",
      "thinking without a signature",
      claude({ role: "assistant", content: [{ type: "thinking", thinking: "x" }] }),
    ],
    [
      "anthropic",
      "thinking behind a call",
      claude(
        { role: "assistant", content: [use("a"), { type: "thinking", thinking: "x", signature: "s" }] },
        { role: "user", content: [given("a")] },
      ),
    ],
    [
      "anthropic",
      "an id with a dot",
      claude({ role: "assistant", content: [use("a.b")] }, { role: "user", content: [given("a.b")] }),
    ],
    ["anthropic", "a choice at the root", { ...claude(), tools: [{ name: "act", input_schema: { oneOf: [] } }] }],
    ["gemini", "calls of one answer in two contents", google(model(asked), model(asked), person(told, told))],
    ["gemini", "a call without a response", google(model(asked))],
    [
      "gemini",
      "a first call without a signature",
      google(model({ functionCall: { name: "act", args: {} } }), person(told)),
    ],
    [
      "gemini",
      "a response with a reference",
      google(model(asked), person({ functionResponse: { name: "act", response: { $ref: "x" } } })),
    ],
    [
      "gemini",
      "a keyword it does not know",
      {
        ...google(),
        tools: [{ functionDeclarations: [{ name: "act", parameters: { properties: { a: { const: 1 } } } }] }],
      },
    ],
    ["gemini", "a name with a dot", { ...google(), tools: [{ functionDeclarations: [{ name: "a b" }] }] }],
  ] as const)("%s: see %s", (speaks, _fault, body) => {
    expect(checkRequest(speaks, body)).not.toEqual([]);
  });
});
