import type { Page } from "@playwright/test";
import { askForStory, longStory } from "./long-story.ts";
import {
  approveButton,
  askForRefund,
  card,
  executions,
  finished,
  lastAnswer,
  mounts,
  open,
  orderRow,
  readThread,
  readyCard,
  refundedCents,
  resetShop,
  say,
  stepLine,
  threadId,
  transcript,
  waitingCall,
} from "./shop-page.ts";
import { brokenRequest, expect, refusedRequest, test } from "./watched-test.ts";

// The server's process is really killed, by the supervisor that the start script runs it under.
test.beforeEach(async ({ request, complaints }) => {
  complaints.expect(brokenRequest); // while nobody answers
  await resetShop(request);
});

for (const { name, path, api } of mounts) {
  test.describe(`restart, ${name}`, () => {
    test("while it waits: the same card, the same step, and it runs once", async ({ page, request }) => {
      await askForRefund(page, path);
      const before = await readThread(page, api);
      const { callId, digest } = waitingCall(before);
      const firstCard = await card(page).elementHandle();
      const life = await lifeOf(page);

      await strip(page).getByRole("button", { name: "Restart the server" }).click();
      await expect(strip(page).locator("output")).toHaveText(
        /^Server stopped at \d\d:\d\d:\d\d\.Server back at \d\d:\d\d:\d\d\. Nothing was lost: 1 approval still waiting\.$/,
        { timeout: 20_000 },
      );
      expect(await lifeOf(page)).not.toBe(life);
      expect(await firstCard?.evaluate((element) => element.isConnected), "the card has not moved").toBe(true);
      const after = await readThread(page, api);
      expect(waitingCall(after)).toMatchObject({ callId, digest });
      expect(after).toMatchObject({ seq: before.seq, thread: before.thread });

      await approveButton(await readyCard(page)).click();
      await finished(page);
      expect(await lastAnswer(page)).toContain("Done. I refunded 49.90 EUR on order 1042.");
      await expect(orderRow(page, "1042")).toContainText("Partly refunded");
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
      expect(await refundedCents(request, "1042")).toBe(4990);

      await page.reload();
      await expect(stepLine(page, "Refund order")).toContainText("Approved by you");
      await expect(card(page)).toHaveCount(0);
    });

    test("reload after it: the conversation is whole and in the list, and goes on", async ({ page }) => {
      await open(page, path);
      await say(page, "Hello");
      await finished(page);
      const id = await threadId(page);
      await kill(page);
      await page.reload();
      await expect(transcript(page).getByText(/Before I change anything, I ask you\. Try/)).toBeVisible();
      await page.getByRole("button", { name: /Conversations/ }).click();
      await expect(page.getByRole("dialog", { name: "Conversations" })).toContainText("Hello");
      await page.keyboard.press("Escape");
      await say(page, "Refund order 1042");
      await readyCard(page);
      expect(await threadId(page)).toBe(id);
    });

    test("while a tool runs: it runs again with its key, nothing is written twice, and the run ends", async ({
      page,
    }) => {
      test.setTimeout(90_000);
      const total = await orders(page);
      const waiting = await askForRefund(page, path, "Import 400 orders");
      const { callId } = waitingCall(await readThread(page, api));
      await approveButton(waiting).click();
      const bar = page.getByRole("progressbar", { name: "Import orders" });
      await expect.poll(async () => Number(await bar.getAttribute("value"))).toBeGreaterThan(20);
      await kill(page);
      await finished(page, 60_000); // this page, which stayed open, brings it on when the dead driver's lease is over
      await expect(stepLine(page, "Import orders")).toContainText("Done");
      expect(await lastAnswer(page)).toContain("Done. 400 orders came in.");
      expect(await orders(page)).toBe(total + 400);
      const { thread } = await readThread(page, api);
      const run = thread.runs.at(-1);
      expect(run?.outcome).toBe("completed");
      const calls = run?.turns.flatMap((turn) => turn.calls).filter(({ tool }) => tool === "importOrders");
      expect(calls).toMatchObject([{ callId, status: "succeeded", attempt: 2 }]);
    });

    test("while text streams: the turn is asked for again, and the answer is there once and whole", async ({
      page,
    }) => {
      test.setTimeout(90_000);
      await open(page, path);
      await say(page, askForStory);
      await expect(transcript(page)).toContainText("Monday. The shop opened early.");
      await kill(page);
      await finished(page, 60_000);
      const story = await longStory();
      expect(await lastAnswer(page)).toBe(story);
      expect((await readThread(page, api)).thread.runs).toMatchObject([{ outcome: "completed", text: story }]);
    });
  });
}

test("what edge began is decided on Node after a restart: both have the same store", async ({ page, request }) => {
  await askForRefund(page, "/");
  const id = await threadId(page);
  await kill(page);
  await page.goto(`/node?thread=${id}`);
  await approveButton(await readyCard(page)).click();
  await finished(page);
  expect(await executions(request, "refundOrder", "1042")).toBe(1);
});

test("a page cannot reach the store, with or without its token", async ({ page, complaints }) => {
  complaints.expect(refusedRequest);
  await askForRefund(page, "/");
  const id = await threadId(page);
  const ask = (token: string): Promise<{ status: number; text: string }> =>
    page.evaluate(
      async ({ id, token }) => {
        const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
        const response = await fetch("/api/store/read", { method: "POST", headers, body: JSON.stringify({ id }) });
        return { status: response.status, text: await response.text() };
      },
      { id, token },
    );
  for (const token of ["", "guess", process.env.SHOP_TOKEN ?? "", process.env.STORE_TOKEN ?? ""]) {
    expect(await ask(token)).toEqual({ status: 404, text: '{"error":{"code":"not-found","message":"Not found."}}' });
  }
  expect((await page.request.get("/api/store/read")).status()).toBe(405);
  const own = await page.request.post("/api/store/read", {
    headers: { authorization: `Bearer ${process.env.STORE_TOKEN}` },
    data: { id },
  });
  expect(await own.json()).toMatchObject({ events: expect.any(Array) }); // that is what the others did not get
});

function strip(page: Page) {
  return page.getByRole("complementary", { name: "Try to break it" });
}

async function lifeOf(page: Page): Promise<string | undefined> {
  const response = await page.request.get("/api/demo/server").catch(() => undefined);
  return response?.ok() ? ((await response.json()) as { life: string }).life : undefined;
}

/** As the strip does it, from the page; resolves when the next process answers and has the database open again. */
async function kill(page: Page): Promise<void> {
  const life = await lifeOf(page);
  expect(await page.evaluate(async () => (await fetch("/api/demo/server", { method: "POST" })).status)).toBe(202);
  const isNew = async (): Promise<boolean> => ![undefined, life].includes(await lifeOf(page));
  await expect.poll(isNew, { timeout: 20_000 }).toBe(true);
  expect((await page.request.get("/api/shop/orders?limit=1")).status()).toBe(200);
}

/** How many orders the shop has. */
async function orders(page: Page): Promise<number> {
  const response = await page.request.get("/api/shop/orders?limit=1");
  return ((await response.json()) as { total: number }).total;
}
