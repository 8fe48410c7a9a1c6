import type { Json } from "../../../src/protocol/values.ts";
import type { Shown } from "./shown.ts";

/**
 * What the shop's owner would say its tools take, written again without a schema: the ledger must not believe the code
 * it watches.
 */

/** JSON in one order of keys. */
export function inOrder(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

type Fields = { readonly [name: string]: unknown };

/** The input as a tool would get it, or undefined where it takes no such thing. */
function asInput(tool: string, given: unknown): Fields | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const { orderId, amount, note = "none", table } = given as Fields;
  switch (tool) {
    case "refund": {
      const fits = typeof orderId === "string" && typeof note === "string" && isAmount(amount) && amount <= 1000;
      return fits ? { orderId, amount, note } : undefined;
    }
    case "wipe":
      return typeof table === "string" ? { table } : undefined;
    case "charge":
      return typeof amount === "number" ? { amount } : undefined;
    default:
      return undefined;
  }
}

function isAmount(amount: unknown): amount is number {
  return typeof amount === "number" && amount > 0;
}

/** The input an approval lets run, or why nobody may approve that. */
export function approvedInput(step: Shown, given: unknown, scope: unknown): string | { readonly wrong: string } {
  const shown = inOrder(step.input);
  if (scope !== undefined && !step.scopes.includes(String(scope))) return { wrong: `scope ${scope}` };
  if (given === undefined) return shown;
  const input = asInput(step.tool, given);
  if (!input) return { wrong: "an input that does not fit" };
  if (inOrder(input) === shown) return shown;
  const before = step.input as Fields; // a tool's input is an object
  const changed = Object.keys(input).filter((name) => inOrder(input[name]) !== inOrder(before[name]));
  const mayChange = (name: string): boolean => step.editable === true || (step.editable || []).includes(name);
  if (!changed.every(mayChange)) return { wrong: `a change of ${changed}` };
  if (isAmount(input.amount) && input.amount > 500) return { wrong: "an input the policy denies" };
  // Where the other order asks for less trust, an approval of it is worth less.
  if (scope !== undefined && scope !== "once" && step.tool === "refund" && !scopesOf(input).includes(String(scope))) {
    return { wrong: `scope ${scope} of the other input` };
  }
  return inOrder(input);
}

function scopesOf({ orderId }: Fields): readonly string[] {
  if (orderId === "locked") return ["once"];
  return orderId === "editable" || orderId === "expiring" ? ["once", "run"] : ["once", "run", "thread"];
}

/** True for what the asked one may answer. */
export function isAnswer(tool: string, value: Json | undefined, error: unknown): boolean {
  if (error !== undefined) return typeof error === "string";
  if (tool === "which") return value === "red" || value === "blue";
  if (tool === "charge") return value !== undefined;
  return typeof (value as { width?: unknown } | null)?.width === "number"; // any JSON has properties or none
}

/** What a remembered approval covers: the same input, or all refunds of the keyed order. */
export function isCovered(tool: string, granted: string, input: unknown): boolean {
  if (inOrder(input) === granted) return true;
  const orderId = (JSON.parse(granted) as Fields).orderId;
  return tool === "refund" && orderId === "keyed" && (input as Fields).orderId === "keyed";
}
