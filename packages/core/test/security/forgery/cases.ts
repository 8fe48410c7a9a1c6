import type { Json } from "../../../src/protocol/values.ts";

/** A tool the model asks for, with its input as the model writes it. */
export interface Asked {
  readonly tool: string;
  readonly input: { readonly [name: string]: Json };
}

/** A conversation in an interesting state: what the model asks for at first, and what people did since. */
export interface Case {
  readonly asks: readonly Asked[];
  readonly since?: "approve" | "remember" | "deny" | "stop" | "interrupt" | "wait" | undefined;
  /** Begun when the time of the others is over. */
  readonly late?: true;
}

const refund = (orderId: string, amount: number): Asked => ({ tool: "refund", input: { orderId, amount } });

/** How a refund asks is in its order's id: see the app's rules. */
export const CASES: Readonly<Record<string, Case>> = {
  locked: { asks: [refund("locked", 40)] },
  editable: { asks: [refund("editable", 41)] },
  free: { asks: [refund("free", 42)] },
  expiring: { asks: [refund("expiring", 43)], late: true },
  expired: { asks: [refund("expiring", 44)], since: "wait" },
  batch: { asks: [refund("locked", 45), refund("free", 46), { tool: "wipe", input: { table: "orders" } }] },
  twins: { asks: [refund("free", 47), refund("free", 47)] },
  keyed: { asks: [refund("keyed", 48), refund("keyed", 49)] },
  question: { asks: [{ tool: "which", input: { question: "Which colour?" } }] },
  browser: { asks: [{ tool: "measure", input: {} }], late: true },
  interrupted: { asks: [{ tool: "charge", input: { amount: 50 } }], since: "interrupt" },
  granted: { asks: [refund("free", 51)], since: "remember" },
  decided: { asks: [refund("free", 52)], since: "approve" },
  denied: { asks: [refund("free", 53)], since: "deny" },
  stopped: { asks: [refund("free", 54)], since: "stop" },
  child: { asks: [{ tool: "helper", input: { prompt: "inner" } }] },
};

/** What a sub-agent asks for. */
export const INNER: readonly Asked[] = [refund("locked", 55)];
