import fc from "fast-check";
import type { Json } from "../../../src/protocol/values.ts";
import type { Act, Deed, When } from "./plan.ts";
import { rarely } from "./rarely.ts";

const pick = fc.nat({ max: 9 });

/** Edited inputs; not all of them fit. */
const input = fc.constantFrom<Json>(
  ...[{ amount: 1 }, { amount: 7 }, { amount: 1, note: "edited" }, { amount: 2, note: "edited" }, {}, null, []],
  { amount: "much" },
);

/** Answers to questions of all kinds. */
const value = fc.constantFrom<Json>("Blue", "Blue", { amount: 3 }, { amount: 3 }, null, 5, { amount: "3" });

const when = fc.constantFrom<When>("now", "running", "writing");

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant("approve" as const),
      pick,
      scope: fc.constantFrom(null, null, "once", "run", "thread"),
      all: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("deny" as const),
      pick,
      stop: fc.constantFrom(null, null, null, false, true),
      reason: fc.constantFrom(null, "Not now."),
      scope: fc.constantFrom(null, null, null, "once", "run", "thread"),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("edit" as const), pick, input }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("retry" as const, "retry" as const, "skip" as const), pick }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      pick,
      value,
      error: rarely(false, fc.constant(true), 10),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("meddle" as const),
      pick,
      how: fc.constantFrom("approve" as const, "deny" as const, "answer" as const, "retry" as const),
      digest: fc.constantFrom("own" as const, "other" as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      text: fc.constantFrom("More", "And then?", ""),
      deny: rarely(false, fc.constant(true), 4),
      when,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("stop" as const), when }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("continue" as const), turns: fc.constantFrom(null, 1, 2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("revoke" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("extend" as const), pick }) },
  { weight: 1, arbitrary: fc.constantFrom<Deed>({ do: "rename" }, { do: "sweep" }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("again" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), when }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("pause" as const), when, ms: fc.constantFrom(1_000, 31_000, 90_000) }),
  },
);

const after = fc.constantFrom(0, 0, 0, 1, 60, 700, 6_000, 40_000, 400_000);
const act: fc.Arbitrary<Act> = fc.tuple(after, deed).map(([ms, what]) => ({ after: ms, ...what }));

/** A tool is cut off with its server, and a person says what is to become of it. */
const interruption: fc.Arbitrary<readonly Act[]> = fc
  .tuple(
    after,
    fc.constantFrom("retry", "retry", "skip", "answer"),
    pick,
    value,
    fc.boolean(),
    fc.constantFrom(0, 60_000),
  )
  .map(([ms, how, which, given, pauses, later]): readonly Act[] => [
    pauses ? { after: ms, do: "pause", when: "running", ms: 31_000 } : { after: ms, do: "crash", when: "running" },
    how === "answer"
      ? { after: later, do: "answer", pick: which, value: given, error: false }
      : { after: later, do: how as "retry" | "skip", pick: which },
  ]);

/** What a person does, one thing soon after the other or much later. */
export const arbitraryActs: fc.Arbitrary<readonly Act[]> = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: act.map((one): readonly Act[] => [one]) },
      { weight: 1, arbitrary: interruption },
    ),
    {
      maxLength: 14,
      size: "max",
    },
  )
  .map((lists) => lists.flat());
