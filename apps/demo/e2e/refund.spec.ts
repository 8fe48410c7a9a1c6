import { expect, test } from "@playwright/test";
import {
  askForRefund,
  card,
  executions,
  mounts,
  openThread,
  readyCard,
  refundedCents,
  resetShop,
  say,
  waitingCall,
} from "./shop-page.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path, api } of mounts) {
  test.describe(name, () => {
    test("approve: the row in the table changes and the assistant says so", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      await expect(open).toContainText("49.9");
      await expect(page.locator('[data-order="1042"]')).toContainText("Paid");
      await open.getByRole("button", { name: "Approve once" }).click();
      await expect(page.getByText(/refunded/i).last()).toBeVisible();
      await expect(page.locator('[data-order="1042"]')).toContainText(/refunded/i);
      expect(await refundedCents(request, "1042")).toBe(4990);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("edit then approve: what was changed is what runs, and the assistant tells the truth", async ({
      page,
      request,
    }) => {
      const open = await askForRefund(page, path);
      await open.getByRole("button", { name: "Edit…" }).click();
      await open.getByRole("textbox", { name: /Amount/ }).fill("20");
      await open.getByRole("button", { name: "Approve with changes" }).click();
      await expect(page.getByText(/You changed the amount/)).toBeVisible();
      expect(await refundedCents(request, "1042")).toBe(2000);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("deny with a reason: nothing runs, and the reason reaches the model", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      await open.getByRole("button", { name: "Deny…" }).click();
      await open.getByRole("textbox").fill("wrong customer");
      await open.getByRole("textbox").press("Enter");
      await expect(page.getByText(/I did not refund it.*wrong customer/)).toBeVisible();
      expect(await refundedCents(request, "1042")).toBe(0);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
    });

    test("20 clicks on Approve within 100 ms are one decision and one refund", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      const posts: string[] = [];
      page.on("request", (sent) => {
        if (sent.url().endsWith("/decisions")) posts.push(sent.url());
      });
      const took = await open.getByRole("button", { name: "Approve once" }).evaluate((button: HTMLElement) => {
        const start = performance.now();
        for (let count = 0; count < 20; count++) button.click();
        return performance.now() - start;
      });
      expect(took).toBeLessThan(100);
      await expect(page.locator('[data-order="1042"]')).toContainText(/refunded/i);
      expect(posts).toHaveLength(1);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("two tabs that approve at once run it once, and both show the same end", async ({ page, context, request }) => {
      await askForRefund(page, path);
      const other = await context.newPage();
      await other.goto(path);
      await openLatest(other, page);
      const cards = [await readyCard(page), await readyCard(other)];
      await Promise.all(cards.map((open) => open.getByRole("button", { name: "Approve once" }).click()));
      await Promise.all([page, other].map((tab) => expect(tab.getByText(/I refunded/)).toBeVisible()));
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
      expect(await refundedCents(request, "1042")).toBe(4990);
    });

    test("five parallel posts of one decision run it once; the others are told who decided", async ({
      page,
      request,
    }) => {
      await askForRefund(page, path);
      const body = await openThread(page, api);
      const { callId, digest } = waitingCall(body);
      const answers = await page.evaluate(
        ({ url, decision }) =>
          Promise.all(
            Array.from({ length: 5 }, async (_, index) => {
              const response = await fetch(url, {
                method: "POST",
                headers: { "content-type": "application/json" },
                body: JSON.stringify({ decisions: [decision], key: `key-${index}` }),
              });
              return { status: response.status, body: (await response.json()) as { error?: { code: string } } };
            }),
          ),
        { url: `${api}/threads/${body.thread.id}/decisions`, decision: { callId, digest, action: "approve" } },
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
      expect(answers.flatMap((answer) => answer.body.error?.code ?? [])).toEqual(Array(4).fill("decided"));
      await expect(page.getByText(/I refunded/)).toBeVisible();
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("a forged amount is refused, and nothing runs", async ({ page, request }) => {
      await askForRefund(page, path);
      const body = await openThread(page, api);
      const { callId, digest, input } = waitingCall(body);
      const url = `${api}/threads/${body.thread.id}/decisions`;
      const forge = (decision: object, key: string) =>
        page.evaluate(
          async ({ url, decision, key }) => {
            const response = await fetch(url, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ decisions: [decision], key }),
            });
            return response.status;
          },
          { url, decision, key },
        );
      const forged = { callId, digest: "made-up-digest", action: "approve", input: { ...input, amount: 4990 } };
      expect(await forge(forged, "a")).toBe(409);
      expect(await forge({ ...forged, digest, input: { ...input, orderId: "1041" } }, "b")).toBe(400);
      expect(await forge({ ...forged, digest, callId: "another-call" }, "c")).toBe(404);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await expect(card(page)).toBeVisible();
    });

    test("reload while it waits: the card is still there and can be decided", async ({ page, request }) => {
      await askForRefund(page, path);
      await page.reload();
      const open = await readyCard(page);
      await open.getByRole("button", { name: "Approve once" }).click();
      await expect(page.getByText(/I refunded/)).toBeVisible();
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("reload while it runs: the run goes on and its progress is shown", async ({ page, request }) => {
      const open = await askForRefund(page, path, "Import 200 orders");
      await open.getByRole("button", { name: "Approve once" }).click();
      await expect(page.getByRole("progressbar")).toBeVisible();
      await page.reload();
      await expect(page.getByText(/imported 200|200 orders/i).last()).toBeVisible({ timeout: 20_000 });
      await expect(page.getByText("Finished", { exact: false }).or(page.getByText(/Imported/)).last()).toBeVisible();
      const body = await openThread(page, api);
      expect(body.thread.runs.at(-1)?.outcome).toBe("completed");
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
    });

    test("a second tab follows live", async ({ page, context }) => {
      await page.goto(path);
      await say(page, "Tell me a long story");
      await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
      const other = await context.newPage();
      await other.goto(path);
      await openLatest(other, page);
      const transcript = other.getByRole("log");
      const early = (await transcript.innerText()).length;
      await expect.poll(async () => (await transcript.innerText()).length).toBeGreaterThan(early + 50);
      await expect(page.getByRole("button", { name: "Send" })).toBeVisible({ timeout: 25_000 });
      await expect(other.getByRole("button", { name: "Send" })).toBeVisible();
      expect(await transcript.innerText()).toBe(await page.getByRole("log").innerText());
    });

    test("stop ends the run on the server", async ({ page }) => {
      await page.goto(path);
      await say(page, "Tell me a long story");
      await expect(page.getByText(/once upon|shop/i).last()).toBeVisible();
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(page.getByText(/Stopped/).first()).toBeVisible({ timeout: 2_000 });
      const body = await openThread(page, api);
      expect(body.thread.active).toEqual([]);
      expect(body.thread.runs.at(-1)?.outcome).toBe("stopped");
      const later = await openThread(page, api);
      expect(later.seq).toBe(body.seq);
    });
  });
}

/** A second tab has its own session storage: it opens the conversation from the list. */
async function openLatest(tab: import("@playwright/test").Page, first: import("@playwright/test").Page): Promise<void> {
  const id = await first.evaluate(() => Object.values(sessionStorage).find((value) => /^[\w-]{20,}$/.test(value)));
  if (!id) throw new Error("The first tab shows no conversation.");
  await tab.goto(`${new URL(first.url()).pathname}?thread=${id}`);
}
