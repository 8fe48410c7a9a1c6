/** Names of the invariants, as docs and mutants cite them. */
export type Invariant =
  | "I1"
  | "I2"
  | "I3"
  | "I4"
  | "I5"
  | "I6"
  | "I7"
  | "I8"
  | "I9"
  | "A6"
  | "A10"
  | "A16"
  | "A23"
  | "live";

/** One broken invariant. */
export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}
