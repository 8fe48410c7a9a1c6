import { type APIRequestContext, expect, type Locator, type Page } from "@playwright/test";
import { ports } from "./ports.ts";

/** The two endpoints of the demo: the same page on each. */
export const mounts = [
  { name: "edge route", path: "/", api: "/api/toolrun" },
  { name: "node route", path: "/node", api: "/api/toolrun-node" },
] as const;

const shopApi = (port: number) => `http://127.0.0.1:${port}/api/shop`;

/** A fresh shop: orders as seeded, counters at zero. */
export async function resetShop(request: APIRequestContext, port: number = ports.scripted): Promise<void> {
  const headers = { authorization: `Bearer ${process.env.SHOP_TOKEN}` };
  const response = await request.post(`${shopApi(port)}/reset`, { headers });
  expect(response.status()).toBe(200);
}

/** How often a tool really ran for an order, as the database counts. */
export async function executions(
  request: APIRequestContext,
  tool: string,
  subject: string,
  port: number = ports.scripted,
): Promise<number> {
  const response = await request.get(`${shopApi(port)}/counter?tool=${tool}&subject=${subject}`);
  return ((await response.json()) as { count: number }).count;
}

/** What was given back for an order, in cents. */
export async function refundedCents(
  request: APIRequestContext,
  order: string,
  port: number = ports.scripted,
): Promise<number> {
  const response = await request.get(`${shopApi(port)}/orders/${order}`);
  return ((await response.json()) as { refundedCents: number }).refundedCents;
}

export function composer(page: Page): Locator {
  return page.getByRole("textbox", { name: "Message" });
}

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** The open approval card. */
export function card(page: Page): Locator {
  return page.locator('[data-kind="approval"]');
}

/** Asks for the refund of order 1042 and waits until its card takes a decision. */
export async function askForRefund(page: Page, path: string, message = "Refund order 1042"): Promise<Locator> {
  await page.goto(path);
  await say(page, message);
  return readyCard(page);
}

/** A card takes no press in its first half second: the press might have been meant for what was there before. */
export async function readyCard(page: Page): Promise<Locator> {
  const open = card(page).first();
  await expect(open.getByRole("button", { name: "Approve" })).toBeVisible();
  await expect(open.getByRole("button", { name: "Approve" })).not.toHaveAttribute("aria-disabled", "true");
  return open;
}

/** The thread this tab shows, with what a browser may know of it. */
export async function openThread(page: Page, api: string): Promise<ThreadBody> {
  const list = (await (await page.request.get(`${api}/threads`)).json()) as { rows: { id: string }[] };
  const response = await page.request.get(`${api}/threads/${list.rows[0]?.id}`);
  return (await response.json()) as ThreadBody;
}

export interface ThreadBody {
  readonly seq: number;
  readonly thread: {
    readonly id: string;
    readonly active: readonly RunBody[];
    readonly runs: readonly RunBody[];
  };
}

interface RunBody {
  readonly runId: string;
  readonly outcome?: string;
  readonly text: string;
  readonly turn: { readonly calls: readonly CallBody[] } | null;
}

interface CallBody {
  readonly callId: string;
  readonly digest: string;
  readonly tool: string;
  readonly status: string;
  readonly input: Record<string, unknown>;
}

/** The call that waits for a decision. */
export function waitingCall({ thread }: ThreadBody): CallBody {
  const call = thread.active[0]?.turn?.calls.find(({ status }) => status === "waiting");
  if (!call) throw new Error("No call waits.");
  return call;
}
