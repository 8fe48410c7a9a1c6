import fc from "fast-check";
import type { AnswerPlan, PartPlan, ToolName } from "./plan.ts";
import { mostly } from "./rarely.ts";

type Parts = readonly PartPlan[];

const text = fc.constantFrom("Hello", " there", "", "é\u0000", "\ud83d", "\ude00", "[Note", "I will look. ");
/** Few ids, so that they meet; some providers number from zero, some leave them out. */
const id = fc.constantFrom("a", "b", "c", "call_0", "call_1", "", "__proto__", "constructor");
const toolName: fc.Arbitrary<ToolName> = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(0, 0, 1, 1, 2, 3, 4) },
  { weight: 1, arbitrary: fc.constantFrom("ghost", "", "__proto__", "hasOwnProperty", "valueOf", "x".repeat(300)) },
);

/** Arguments: most fit most schemas, and many are equal. */
const inputText: fc.Arbitrary<string> = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('{"amount":1}', '{"amount":1}', '{"amount":2}') },
  {
    weight: 4,
    arbitrary: fc.constantFrom('{ "amount" : 1 }', '{"amount":1,"note":"x"}', "{}", "", " ", '{"amount":1,"amount":3}'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...['{"amount":', "nonsense", "[]", "[1,2]", "null", "5", '"text"', "true", "{}{}", '{"amount":"1"}'],
      ...['{"__proto__":{"amount":1}}', '{"constructor":{"prototype":{}},"amount":1}', '{"amount":1,"toString":2}'],
      ...['{"amount":9007199254740993}', '{"amount":1234567890123456789}', '{"amount":1e400}', '{"amount":-0}'],
      ...['{"amount":1,"note":"\\ud800"}', '{"amount":1,"note":"\ud800"}', `${"[".repeat(500)}${"]".repeat(500)}`],
    ),
  },
);

/** A call as providers send it: announced, in pieces, whole; or only whole. */
const wholeCall: fc.Arbitrary<Parts> = fc
  .record({ id, tool: toolName, input: inputText, start: fc.boolean(), pieces: fc.nat({ max: 3 }) })
  .map(({ start, pieces, ...call }) => [
    ...(start ? [{ type: "call-start" as const, id: call.id, tool: call.tool }] : []),
    ...(start
      ? piecesOf(call.input, pieces).map((piece) => ({ type: "call-input" as const, id: call.id, text: piece }))
      : []),
    { type: "call", ...call },
  ]);

function piecesOf(input: string, count: number): readonly string[] {
  if (count === 0) return [];
  const size = Math.ceil(input.length / count) || 1;
  return Array.from({ length: count }, (_, index) => input.slice(index * size, (index + 1) * size));
}

const wait = mostly([0, 20, 300, 2_000], [9_000, 70_000]).map((ms): PartPlan => ({ type: "wait", ms }));

const piece: fc.Arbitrary<PartPlan> = fc.oneof(
  { weight: 12, arbitrary: text.map((value): PartPlan => ({ type: "text", text: value })) },
  { weight: 4, arbitrary: text.map((value): PartPlan => ({ type: "reasoning", text: value })) },
  { weight: 2, arbitrary: fc.constantFrom<PartPlan>({ type: "source" }, { type: "opaque" }, { type: "unknown" }) },
  { weight: 2, arbitrary: wait },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("call-start" as const), id, tool: toolName }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("call-input" as const), id, text: inputText }) },
);

const end: fc.Arbitrary<PartPlan> = fc.record({
  type: fc.constant("end" as const),
  reason: fc.constantFrom("stop", "tools", "length", "filter", "other"),
  tokens: fc.constantFrom(null, 0, 7, 100),
});

/** How an answer's stream comes to its end: nearly always with one, sometimes with more behind it. */
const ending: fc.Arbitrary<Parts> = fc.oneof(
  { weight: 25, arbitrary: end.map((part): Parts => [part]) },
  { weight: 1, arbitrary: fc.tuple(end, end).map((parts): Parts => parts) },
  {
    weight: 1,
    arbitrary: fc.tuple(end, wholeCall, end).map(([first, call, second]): Parts => [first, ...call, second]),
  },
  { weight: 1, arbitrary: fc.tuple(end, piece).map((parts): Parts => parts) },
  { weight: 1, arbitrary: fc.constantFrom<Parts>([], [{ type: "cut" }], [{ type: "hang" }]) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("again" as const, "never" as const, "later" as const, "error" as const, "hostile" as const)
      .map((how): Parts => [{ type: "fail", how }]),
  },
);

/** One answer of a model. */
export const arbitraryAnswer: fc.Arbitrary<AnswerPlan> = fc
  .record({
    parts: fc.array(
      fc.oneof({ weight: 3, arbitrary: wholeCall }, { weight: 2, arbitrary: piece.map((part): Parts => [part]) }),
      { maxLength: 6 },
    ),
    ending,
    together: fc.constantFrom(0, 0, 1, 3, 50),
    obeys: fc.boolean(),
  })
  .map(({ parts, ending: last, ...rest }) => ({ parts: [...parts.flat(), ...last], ...rest }));
