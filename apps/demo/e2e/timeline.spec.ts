import { look } from "./lab-page.ts";
import { approveButton, askForRefund, finished, resetShop } from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

test.setTimeout(60_000);

test("the timeline of a run opens over its chat by keyboard, says it in words, and fits", async ({ page }) => {
  await page.goto("/lab?state=timeline");
  const button = page.getByRole("button", { name: "Timeline" });
  const region = page.getByRole("region", { name: "Timeline" });
  await expect(async () => {
    await button.press("Enter");
    await expect(region).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await expect(region).toContainText("45 min 3 s in all · waited 44 min 51 s · 5,766 tokens in, 274 out");
  await expect(region.getByRole("listitem").filter({ hasText: "Researcher" }).last()).toContainText("Find payments");
  await look(page, "timeline");
  await page.keyboard.press("Escape");
  await expect(region).toBeHidden();
  await expect(button).toBeFocused();
});

test("of a run that goes on, the clock goes on", async ({ page }) => {
  await page.goto("/lab?state=timeline-running");
  await page.getByRole("button", { name: "Timeline" }).click();
  const total = page.getByRole("region", { name: "Timeline" }).locator("p").first();
  const before = await total.textContent();
  await expect(total).not.toHaveText(before ?? "");
});

test("in Arabic it goes from right to left", async ({ page }) => {
  await page.goto("/lab?state=timeline&lang=ar");
  await page.getByRole("button", { name: "المخطط الزمني" }).click();
  await expect(page.getByRole("region", { name: "المخطط الزمني" })).toBeVisible();
  await look(page, "ar-timeline");
});

test("the shop shows what a refund took, the wait for its approval apart", async ({ page, request }) => {
  await resetShop(request);
  const card = await askForRefund(page, "/");
  await approveButton(card).click();
  await finished(page);
  await page.getByRole("button", { name: /Conversations/ }).click();
  await page.getByRole("button", { name: "Timeline" }).click();
  const region = page.getByRole("region", { name: "Timeline" });
  await expect(region).toBeVisible();
  await expect(region.locator("li").filter({ hasText: "Refund order" }).last()).toContainText(/Done.* · waited \d/);
  await expect(region.locator('rect[data-kind="wait"]')).toHaveCount(1);
});
