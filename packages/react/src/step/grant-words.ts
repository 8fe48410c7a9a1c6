import type { Ask } from "toolrun";
import type { Strings } from "../strings.ts";

/** What an approval for more than once is worth, as one sentence. */
export function coverOf(terms: Ask["grant"], strings: Strings): string {
  const { label = strings.sameArguments, uses, forMs } = terms ?? {};
  const limits = [
    uses === undefined ? undefined : strings.usesLeft(uses),
    forMs === undefined ? undefined : strings.forPeriod(strings.period(forMs)),
  ];
  return strings.covers(label, limits.filter((limit) => limit !== undefined).join(", "));
}
