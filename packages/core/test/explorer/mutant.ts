import type { Replacement } from "../build-mutant.ts";
import type { Invariant } from "./violation.ts";

/** A rule of the protocol switched off, and what is seen then. */
export interface Mutant extends Replacement {
  readonly rule: string;
  readonly off: string;
  readonly scenario: string;
  readonly violates: readonly Invariant[];
  /** Faults it takes to show. */
  readonly faults: number;
  readonly delays?: number | undefined;
  /** The schedule that shows it, where finding it takes minutes. */
  readonly schedule?: readonly string[] | undefined;
}
