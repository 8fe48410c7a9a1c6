/**
 * Why the shop said no. `unknown-order`: no such order. `not-refundable`: more than what is left. `invalid-input`: the
 * body or the query has the wrong form (`issues` says where). `key-reused`: this idempotency key belongs to another
 * request. `not-found`: no such address, or no right to know it. `unavailable`: the shop or its database does not answer.
 */
export type ShopErrorCode =
  | "unknown-order"
  | "not-refundable"
  | "invalid-input"
  | "key-reused"
  | "not-found"
  | "unavailable";

/** One thing that is wrong with an input, and where. */
export interface ShopIssue {
  readonly path: string;
  readonly message: string;
}

/** A refusal whose message is a sentence for people; code branches on `code`. Thrown by the shop and by its client. */
export class ShopError extends Error {
  override readonly name = "ShopError";
  readonly code: ShopErrorCode;
  readonly issues: readonly ShopIssue[];

  constructor(code: ShopErrorCode, message: string, issues: readonly ShopIssue[] = [], options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.issues = issues;
  }
}

/** The HTTP status of a refusal. */
export const shopErrorStatus: Readonly<Record<ShopErrorCode, number>> = {
  "invalid-input": 400,
  "not-found": 404,
  "unknown-order": 404,
  "not-refundable": 409,
  "key-reused": 422,
  unavailable: 503,
};
