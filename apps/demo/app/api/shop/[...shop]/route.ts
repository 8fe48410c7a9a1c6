import { z } from "zod";
import { query, transaction } from "../../../../lib/db.ts";
import { hasBearer } from "../../../../lib/has-bearer.ts";
import { DatabaseInUseError } from "../../../../lib/open-pglite.ts";
import { unknownOrder } from "../../../../lib/read-orders.ts";
import { createShop } from "../../../../lib/shop.ts";
import { ShopError, shopErrorStatus } from "../../../../lib/shop-error.ts";
import { archiveInput, importInput, orderQuery, refundInput } from "../../../../lib/shop-schemas.ts";

/**
 * The shop over HTTP. Reading is public, for the table beside the chat. Writing needs the token that only the agent's
 * route has: without it the answer is the same 404 as for an address that does not exist, whatever the body says.
 */
export const runtime = "nodejs";
export const dynamic = "force-dynamic";

const shop = createShop({ query, transaction });

export function GET(request: Request): Promise<Response> {
  return answer(request, async ([room, number, rest], params) => {
    if (rest !== undefined) throw notFound();
    if (room === "orders" && number !== undefined) return shop.read(toOrderNumber(number));
    if (room === "orders") return shop.list(parse(orderQuery, Object.fromEntries(params)));
    if (room !== "counter" || number !== undefined) throw notFound();
    const { tool, subject } = parse(counterQuery, Object.fromEntries(params));
    return { count: await shop.count(tool, subject ?? null) };
  });
}

export function POST(request: Request): Promise<Response> {
  return answer(request, async ([room, number, verb, rest]) => {
    if (rest !== undefined || !hasBearer(request, process.env.SHOP_TOKEN)) throw notFound();
    if (room === "orders" && number !== undefined && verb === "refund") {
      return shop.refund(toOrderNumber(number), parse(refundInput, await readJson(request)));
    }
    if (room === "orders" && number !== undefined && verb === "archive") {
      return shop.archive(toOrderNumber(number), parse(archiveInput, await readJson(request)));
    }
    if (room === "import" && number === undefined) return shop.import(parse(importInput, await readJson(request)));
    if (room === "reset" && number === undefined) return { orders: await shop.reset() };
    throw notFound();
  });
}

type Action = (path: readonly string[], params: URLSearchParams) => Promise<unknown>;

async function answer(request: Request, action: Action): Promise<Response> {
  const headers = { "cache-control": "no-store" };
  try {
    const url = new URL(request.url);
    const path = url.pathname.split("/api/shop/")[1]?.split("/") ?? [];
    return Response.json(await action(path, url.searchParams), { headers });
  } catch (error) {
    const { code, message, issues } = error instanceof ShopError ? error : unexpected(error);
    const body = { error: { code, message, ...(issues.length > 0 ? { issues } : {}) } };
    return Response.json(body, { status: shopErrorStatus[code], headers });
  }
}

const counterQuery = z.strictObject({ tool: z.string().min(1), subject: z.string().optional() });

/** Numbers beyond Postgres's integers name no order either. */
function toOrderNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw unknownOrder(text.slice(0, 20));
  return Number(text);
}

function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
  throw new ShopError("invalid-input", "The request is not in the expected form.", issues);
}

async function readJson(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    throw new ShopError("invalid-input", "The body is not JSON.");
  }
}

function notFound(): ShopError {
  return new ShopError("not-found", "Not found.");
}

/** The whole error goes to the server's log; the answer says what a person can do, such as stopping another server. */
function unexpected(error: unknown): ShopError {
  console.error(error);
  const known = error instanceof DatabaseInUseError;
  return new ShopError(
    "unavailable",
    known ? error.message : "The shop is not working right now. Try again in a moment.",
  );
}
