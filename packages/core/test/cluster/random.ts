/** Seeded chance: the same seed gives the same plan, kills and decisions. */
export interface Random {
  /** From 0 to 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  one<Value>(values: readonly [Value, ...Value[]]): Value;
  /** A source of its own, so that what runs side by side does not share one. */
  fork(): Random;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    one: (values) => values[between(0, values.length - 1)] ?? values[0],
    fork: () => seeded(between(0, 2 ** 31)),
  };
}
