import { type APIRequestContext, expect, type Locator, type Page } from "@playwright/test";

/** The two endpoints of the demo: the same page on each. */
export const mounts = [
  { name: "edge route", path: "/", api: "/api/toolrun" },
  { name: "node route", path: "/node", api: "/api/toolrun-node" },
] as const;

/** A fresh shop: orders as seeded, counters at zero. */
export async function resetShop(request: APIRequestContext): Promise<void> {
  const headers = { authorization: `Bearer ${process.env.SHOP_TOKEN}` };
  const response = await request.post("/api/shop/reset", { headers });
  expect(response.status()).toBe(200);
}

/** How often a tool really ran for an order, as the database counts. */
export async function executions(request: APIRequestContext, tool: string, subject: string): Promise<number> {
  const response = await request.get(`/api/shop/counter?tool=${tool}&subject=${subject}`);
  return ((await response.json()) as { count: number }).count;
}

/** What was given back for an order, in cents. */
export async function refundedCents(request: APIRequestContext, order: string): Promise<number> {
  const response = await request.get(`/api/shop/orders/${order}`);
  return ((await response.json()) as { refundedCents: number }).refundedCents;
}

export function composer(page: Page): Locator {
  return page.getByRole("textbox", { name: "Message" });
}

export function transcript(page: Page): Locator {
  return page.getByRole("log", { name: "Conversation" });
}

/** The row of an order in the live table. */
export function orderRow(page: Page, order: string): Locator {
  return page.locator(`[data-order="${order}"]`);
}

/** A step that does not wait for a person, by the words of its line. */
export function stepLine(page: Page, title: string): Locator {
  return page.locator(".tr-step").filter({ hasText: title }).last();
}

/** Opens the page and waits until it is alive: before that a key press goes nowhere. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await expect(page.locator('[data-order="1044"]')).toBeAttached(); // rows are read by the browser, folded away or not
}

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** The open approval card. */
export function card(page: Page): Locator {
  return page.locator('[data-kind="approval"]');
}

export function approveButton(card: Locator): Locator {
  return card.getByRole("button", { name: "Approve once" });
}

/** Asks for the refund of order 1042 and waits until its card takes a decision. */
export async function askForRefund(page: Page, path: string, message = "Refund order 1042"): Promise<Locator> {
  await open(page, path);
  await say(page, message);
  return readyCard(page);
}

/** A card takes no press in its first half second: the press might have been meant for what was there before. */
export async function readyCard(page: Page): Promise<Locator> {
  const open = card(page).first();
  await expect(approveButton(open)).toBeVisible();
  await expect(approveButton(open)).not.toHaveAttribute("aria-disabled", "true");
  return open;
}

/** Until the run of this tab is over. */
export async function finished(page: Page, timeout = 15_000): Promise<void> {
  await expect(page.locator(".tr-chat")).toHaveAttribute("data-status", "ended", { timeout });
}

/** The id of the conversation that this tab shows, from its address. */
export async function threadId(page: Page): Promise<string> {
  await expect(page).toHaveURL(/\?thread=[\w-]{20,}/);
  return new URL(page.url()).searchParams.get("thread") ?? "";
}

/** The conversation of this tab as the server tells a browser. */
export async function readThread(page: Page, api: string): Promise<ThreadBody> {
  const response = await page.request.get(`${api}/threads/${await threadId(page)}`);
  expect(response.status()).toBe(200);
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
  readonly endedAt?: number;
  readonly stop: { readonly at: number } | null;
  readonly text: string;
  readonly turns: readonly TurnBody[];
  readonly turn: TurnBody | null;
}

interface TurnBody {
  readonly calls: readonly CallBody[];
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

export interface Posted {
  readonly status: number;
  readonly body: { readonly seq?: number; readonly error?: { readonly code: string } };
}

/** Decides about a call as a script on the page would, one post for each key, all at once. */
export async function postDecisions(
  page: Page,
  api: string,
  decision: object,
  keys: readonly string[],
): Promise<Posted[]> {
  const url = `${api}/threads/${await threadId(page)}/decisions`;
  return page.evaluate(
    ({ url, decision, keys }) =>
      Promise.all(
        keys.map(async (key) => {
          const response = await fetch(url, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ decisions: [decision], key }),
          });
          return { status: response.status, body: await response.json() };
        }),
      ),
    { url, decision, keys },
  );
}

/** The assistant's last words in this tab, whole: paragraphs as the model wrote them. */
export async function lastAnswer(page: Page): Promise<string> {
  const paragraphs = page.locator('.tr-message[data-role="assistant"]').last().locator(".tr-prose, .tr-markdown > p");
  return (await paragraphs.allTextContents()).join("\n\n");
}
