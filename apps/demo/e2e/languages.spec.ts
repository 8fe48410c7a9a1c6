import { look } from "./lab-page.ts";
import { expect, test } from "./watched-test.ts";

test.setTimeout(120_000);

const views: readonly (readonly [lang: string, states: readonly string[]])[] = [
  ["de", ["approval", "form-question"]],
  ["ar", ["approval", "form-question", "batch", "markdown"]],
  ["pseudo", ["approval", "batch", "limit-turns"]],
];

for (const [lang, states] of views) {
  test(`in ${lang} nothing is cut off, and axe finds nothing`, async ({ page }) => {
    for (const state of states) {
      await page.goto(`/lab?state=${state}&lang=${lang}`);
      await expect(page.locator(".tr-message").first()).toBeVisible();
      await look(page, `${lang}-${state}`);
    }
  });
}

test("from right to left the chat stands the other way round, and ids keep their direction", async ({ page }) => {
  await page.goto("/lab?state=approval&lang=ar");
  const chat = page.locator(".tr-chat");
  expect(await chat.evaluate((element) => getComputedStyle(element).direction)).toBe("rtl");
  await expect(page.getByRole("button", { name: "موافقة لمرة واحدة" })).toBeVisible();
  const said = await page.locator('.tr-message[data-role="user"]').boundingBox();
  const whole = await chat.boundingBox();
  if (!said || !whole) throw new Error("Nothing to measure.");
  expect(said.x - whole.x).toBeLessThan(whole.x + whole.width - (said.x + said.width));
});
