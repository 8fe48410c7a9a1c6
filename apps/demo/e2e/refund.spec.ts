import {
  approveButton,
  askForRefund,
  card,
  composer,
  executions,
  finished,
  lastAnswer,
  mounts,
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
import { expect, refusedRequest, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path, api } of mounts) {
  test.describe(`deciding, ${name}`, () => {
    test("approve: the row in the table changes and the assistant says so", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      await expect(stepLine(page, "Look up order")).toContainText("Done"); // by itself: it only reads
      await expect(open).toContainText("49.9");
      await expect(open).toContainText("Moves money");
      await expect(orderRow(page, "1042")).toContainText("Paid");
      expect(await executions(request, "refundOrder", "1042")).toBe(0);

      await approveButton(open).click();
      await finished(page);
      await expect(orderRow(page, "1042")).toContainText("Partly refunded");
      await expect(stepLine(page, "Refund order")).toContainText("49.90 EUR refunded");
      await expect(stepLine(page, "Refund order")).toContainText("Approved by you");
      expect(await lastAnswer(page)).toContain("Done. I refunded 49.90 EUR on order 1042.");
      expect(await refundedCents(request, "1042")).toBe(4990);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("edit then approve: what was changed is what runs, and the assistant tells the truth", async ({
      page,
      request,
    }) => {
      const open = await askForRefund(page, path);
      await open.getByRole("button", { name: "Edit…" }).click();
      await expect(open.getByRole("textbox", { name: /^Order/ })).toBeDisabled();
      const amount = open.getByRole("textbox", { name: /Amount/ });
      await amount.fill("a lot");
      await open.getByRole("button", { name: "Approve with changes" }).click();
      await expect(open.getByRole("alert")).toContainText("1 field needs attention");
      await amount.fill("20");
      await expect(open).toContainText("was 49.9");
      await open.getByRole("button", { name: "Approve with changes" }).click();
      await finished(page);
      expect(await lastAnswer(page)).toContain("You changed the amount from 49.90 to 20.00 EUR");
      await expect(stepLine(page, "Refund order")).toContainText("Approved by you with 1 change");
      expect(await refundedCents(request, "1042")).toBe(2000);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("deny with a reason: nothing runs, and the assistant was told why", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      await open.getByRole("button", { name: "Deny…" }).click();
      await open.getByRole("textbox").fill("wrong customer");
      await open.getByRole("textbox").press("Enter");
      await finished(page);
      await expect(stepLine(page, "Refund order")).toContainText("Denied by you: wrong customer");
      expect(await lastAnswer(page)).toContain("I did not refund it: wrong customer.");
      expect(await refundedCents(request, "1042")).toBe(0);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
    });

    test("after a denial a new conversation starts afresh, and the old one is kept", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      const first = await threadId(page);
      await open.getByRole("button", { name: "Deny…" }).click();
      await open.getByRole("button", { name: "Not now" }).click();
      await open.getByRole("button", { name: "Deny", exact: true }).click();
      await finished(page);

      await page.getByRole("button", { name: /Conversations/ }).click();
      await page.getByRole("button", { name: "New conversation" }).click();
      await expect(page.getByRole("heading", { name: "What should I do?" })).toBeVisible();
      expect(new URL(page.url()).search).toBe("");
      await page.getByRole("button", { name: "Refund order 1042" }).click();
      await approveButton(await readyCard(page)).click();
      await finished(page);
      expect(await threadId(page)).not.toBe(first);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);

      await page.goto(`${path}?thread=${first}`);
      await expect(transcript(page)).toContainText("I did not refund it: Not now.");
    });

    test("the list says which conversation waits for you, and leads back to its card", async ({ page }) => {
      await askForRefund(page, path);
      const waiting = await threadId(page);
      const menu = page.getByRole("button", { name: /Conversations/ });
      await menu.click();
      await page.getByRole("button", { name: "New conversation" }).click();
      await expect(menu).toHaveAccessibleName(/1 waiting for you/);
      await menu.click();
      const entry = page
        .getByRole("dialog", { name: "Conversations" })
        .getByRole("button", { name: "Refund order 1042" });
      await expect(entry).toContainText("waiting for you");
      await entry.click();
      await readyCard(page);
      expect(await threadId(page)).toBe(waiting);
    });

    test("another guest finds no such conversation, and cannot decide in it", async ({ page, browser, request }) => {
      await askForRefund(page, path);
      const address = page.url();
      const id = await threadId(page);
      const other = await browser.newContext();
      const stranger = await other.newPage();
      await stranger.goto(address);
      await expect(stranger.getByText("This conversation is not here. It may have been removed.")).toBeVisible();
      await expect(card(stranger)).toHaveCount(0);
      for (const url of [`${api}/threads/${id}`, `${api}/threads/${id}/events?after=0`]) {
        const response = await other.request.get(new URL(url, address).href);
        expect(response.status()).toBe(404);
        expect(await response.text()).not.toContain("1042");
      }
      const { callId, digest } = waitingCall(await readThread(page, api));
      const posted = await other.request.post(new URL(`${api}/threads/${id}/decisions`, address).href, {
        data: { key: "stranger", decisions: [{ callId, digest, action: "approve" }] },
      });
      expect(posted.status()).toBe(404);
      const list = await other.request.get(new URL(`${api}/threads`, address).href);
      expect(await list.json()).toEqual({ rows: [] });
      await other.close();
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await readyCard(page);
    });

    test("Try to break it: each of the three buttons prints what became of it", async ({
      page,
      request,
      complaints,
    }) => {
      complaints.expect(refusedRequest);
      await askForRefund(page, path);
      const strip = page.getByRole("complementary", { name: "Try to break it" });
      const print = strip.locator("output");
      await strip.getByRole("button", { name: "Forge an approval" }).click();
      await expect(print).toContainText(/409 · Refused\..* Nothing ran\./);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);

      await strip.getByRole("button", { name: "Reload" }).click();
      await expect(print).toContainText("Reloaded. Nothing was lost: 1 approval still waiting.");

      await readyCard(page);
      await strip.getByRole("button", { name: "Click 20 times" }).click();
      await expect(print).toContainText("20 clicks, 1 decision, 1 refund.");
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
      await finished(page);
    });

    test("a message to an open question waits, or settles it as denied", async ({ page, request }) => {
      await askForRefund(page, path);
      await composer(page).fill("Hello instead");
      await page.getByRole("button", { name: "Deny all and send now" }).click();
      await finished(page);
      await expect(stepLine(page, "Refund order")).toContainText("Denied");
      await expect(transcript(page)).toContainText("Hello instead");
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await say(page, "Hello");
      await expect(
        transcript(page)
          .getByText(/I can look things up on my own/)
          .last(),
      ).toBeVisible();
    });
  });
}
