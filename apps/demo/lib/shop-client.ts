import { DefiniteFailure } from "toolrun/server";
import type { z } from "zod";
import { ownUrl } from "./own-url.ts";
import { ShopError } from "./shop-error.ts";
import {
  type ArchiveInput,
  type ArchiveResult,
  archiveResult,
  errorBody,
  type ImportInput,
  type ImportResult,
  importResult,
  type OrderDetail,
  type OrderList,
  type OrderQuery,
  orderDetail,
  orderList,
  type RefundInput,
  type RefundResult,
  refundResult,
} from "./shop-schemas.ts";

/**
 * The shop as the agent's tools see it from the edge route: over fetch, with the token that no browser has. Every
 * function takes the tool's signal, so that stopping a run stops the request. What goes wrong is an error
 * whose message can be shown as it is.
 */

export interface ShopRequest<Result> {
  readonly method?: "GET" | "POST" | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** The form of the answer; anything else is an error. */
  readonly schema: z.ZodType<Result>;
}

export function listOrders(query: OrderQuery, signal?: AbortSignal): Promise<OrderList> {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return shop(`orders?${params}`, { schema: orderList, signal });
}

export function readOrder(number: number, signal?: AbortSignal): Promise<OrderDetail> {
  return shop(`orders/${number}`, { schema: orderDetail, signal });
}

export function refundOrder(number: number, body: RefundInput, signal?: AbortSignal): Promise<RefundResult> {
  return shop(`orders/${number}/refund`, { method: "POST", body, schema: refundResult, signal });
}

export function archiveOrder(number: number, body: ArchiveInput, signal?: AbortSignal): Promise<ArchiveResult> {
  return shop(`orders/${number}/archive`, { method: "POST", body, schema: archiveResult, signal });
}

/** One chunk of an import; a tool calls it again and again and reports how far it is. */
export function importOrders(body: ImportInput, signal?: AbortSignal): Promise<ImportResult> {
  return shop("import", { method: "POST", body, schema: importResult, signal });
}

/**
 * One request to `/api/shop/…`. An abort is rethrown as it came: a stop is not a failure.
 *
 * @throws DefiniteFailure with the shop's own sentence where it refused · ShopError `unavailable`
 */
export async function shop<Result>(path: string, request: ShopRequest<Result>): Promise<Result> {
  const { signal, schema } = request;
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(ownUrl(`/api/shop/${path}`), {
      method: request.method ?? "GET",
      headers: { authorization: `Bearer ${process.env.SHOP_TOKEN ?? ""}`, "content-type": "application/json" },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...(signal ? { signal } : {}),
      cache: "no-store",
    });
    body = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ShopError("unavailable", "The shop did not answer. Try again in a moment.", [], { cause: error });
  }
  if (!response.ok) throw refusal(body);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ShopError("unavailable", "The shop gave an answer that could not be read.", [], { cause: parsed.error });
}

/** What the shop refuses, it refuses again; what it could not do right now, it may do in a moment. */
function refusal(body: unknown): Error {
  const parsed = errorBody.safeParse(body);
  if (!parsed.success) return new ShopError("unavailable", "The shop is not working right now. Try again in a moment.");
  const { code, message } = parsed.data.error;
  return code === "unavailable" ? new ShopError(code, message) : new DefiniteFailure(message, { retry: false });
}
