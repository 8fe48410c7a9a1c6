import fc from "fast-check";

/** Mostly the calm value, which a failing plan shrinks to; one time in so many what is behind it. */
export function rarely<Value>(calm: Value, wild: fc.Arbitrary<Value>, oneIn = 6): fc.Arbitrary<Value> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(calm) }, { weight: 1, arbitrary: wild });
}

/** Mostly from the first list, rarely from the second. */
export function mostly<Value>(often: readonly Value[], seldom: readonly Value[], oneIn = 6): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: oneIn - 1, arbitrary: fc.constantFrom(...often) },
    { weight: 1, arbitrary: fc.constantFrom(...seldom) },
  );
}
