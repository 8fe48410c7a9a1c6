import {
  approveButton,
  askForRefund,
  executions,
  finished,
  lastAnswer,
  mounts,
  open,
  refundedCents,
  resetShop,
  say,
  stepLine,
  transcript,
} from "./shop-page.ts";
import { brokenRequest, expect, refusedRequest, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path, api } of mounts) {
  test.describe(`what goes wrong, ${name}`, () => {
    test("an order that does not exist: a card with the shop's words, and the conversation goes on", async ({
      page,
    }) => {
      await open(page, path);
      await say(page, "Refund order 99999");
      await finished(page);
      await expect(stepLine(page, "Look up order")).toContainText("Failed");
      await expect(stepLine(page, "Look up order")).toContainText(/99999/);
      expect(await lastAnswer(page)).toContain("I could not look up order 99999");
      await say(page, "Hello");
      await expect(transcript(page).getByText(/Before I change anything, I ask you\. Try/)).toBeVisible();
    });

    test("more than was paid: the tool throws, the card says how much is left, the run ends well", async ({
      page,
      request,
    }) => {
      const waiting = await askForRefund(page, path, "Refund 900 EUR of order 1042");
      await approveButton(waiting).click();
      await finished(page);
      await expect(stepLine(page, "Refund order")).toContainText("Failed");
      await expect(stepLine(page, "Refund order")).toContainText("can still be refunded on order 1042");
      expect(await lastAnswer(page)).toContain("did not go through");
      await expect(page.locator(".tr-banner")).toHaveCount(0);
      expect(await refundedCents(request, "1042")).toBe(0);
      expect(await executions(request, "refundOrder", "1042")).toBe(1); // a final refusal is not tried again
    });

    test("an edit the server refuses lands on its field, and can be corrected", async ({
      page,
      request,
      complaints,
    }) => {
      complaints.expect(refusedRequest);
      const waiting = await askForRefund(page, path);
      await waiting.getByRole("button", { name: "Edit…" }).click();
      const amount = waiting.getByRole("textbox", { name: /Amount/ });
      await amount.fill("10001");
      await waiting.getByRole("button", { name: "Approve with changes" }).click();
      await expect(amount).toHaveAttribute("aria-invalid", "true");
      await expect(waiting.getByRole("alert")).toBeFocused();
      await amount.fill("10.5");
      await waiting.getByRole("button", { name: "Approve with changes" }).click();
      await finished(page);
      expect(await refundedCents(request, "1042")).toBe(1050);
    });

    test("every bad request gets a small JSON error, and changes nothing", async ({ page }) => {
      await open(page, path);
      const post = (data: string, headers: Record<string, string> = { "content-type": "application/json" }) =>
        page.request.post(`${api}/threads`, { data, headers });
      expect((await post("{")).status()).toBe(400);
      expect((await post('{"key":1}')).status()).toBe(400);
      expect((await post("{}", { "content-type": "text/plain" })).status()).toBe(415);
      const foreign = { "content-type": "application/json", origin: "https://evil.example" };
      expect((await post('{"message":{"text":"Hello"},"key":"a"}', foreign)).status()).toBe(403);
      const huge = JSON.stringify({ message: { text: "x".repeat(3_000_000) }, key: "b" });
      expect((await post(huge)).status()).toBe(413);
      const answer = await post("{");
      expect(Object.keys(await answer.json())).toEqual(["error"]);
      expect(await (await page.request.get(`${api}/threads`)).json()).toEqual({ rows: [] });
    });
  });
}

test("the shop's table cannot be loaded: it says so, and comes back by itself", async ({ page, complaints }) => {
  complaints.expect(brokenRequest);
  await open(page, "/");
  await page.route("**/api/shop/orders?*", (route) => route.fulfill({ status: 500, json: {} }));
  await expect(page.getByText("The orders could not be loaded. Trying again…")).toBeVisible();
  await expect(page.locator('[data-order="1044"]')).toBeVisible();
  await page.unroute("**/api/shop/orders?*");
  await expect(page.getByText("The orders could not be loaded. Trying again…")).toHaveCount(0);
});

test("a message that cannot be sent is not lost", async ({ page, complaints }) => {
  complaints.expect(brokenRequest);
  await open(page, "/");
  await page.route("**/api/toolrun/threads", (route) =>
    route.request().method() === "POST" ? route.abort() : route.continue(),
  );
  await say(page, "Hello");
  await expect(page.getByRole("alert").filter({ hasText: "Not sent." })).toBeVisible();
  const field = page.getByRole("textbox", { name: "Message" });
  await expect(field).toHaveValue("Hello");
  await page.unroute("**/api/toolrun/threads");
  await field.press("Enter");
  await finished(page);
  await expect(page.locator('.tr-message[data-role="user"]')).toHaveCount(1);
});

test("an address of a conversation that never was: a sentence, and a way to start", async ({ page, complaints }) => {
  complaints.expect(refusedRequest);
  await open(page, `/?thread=${"x".repeat(22)}`);
  await expect(page.getByText("This conversation is not here. It may have been removed.")).toBeVisible();
  await page.getByRole("button", { name: /Conversations/ }).click();
  await page.getByRole("button", { name: "New conversation" }).click();
  await say(page, "Hello");
  await finished(page);
});
