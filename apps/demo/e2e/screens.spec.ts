import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import type { Locator, Page } from "@playwright/test";
import { approveButton, askForRefund, finished, open, resetShop } from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

const folder = fileURLToPath(new URL("../../../test-results/screens/", import.meta.url));
const sizes = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
] as const;
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

test.beforeEach(({ request }) => resetShop(request));

for (const viewport of sizes) {
  for (const colorScheme of ["light", "dark"] as const) {
    test.describe(`${viewport.width} px, ${colorScheme}`, () => {
      test.use({ viewport, colorScheme, contextOptions: { reducedMotion: "reduce" } });
      const at = `${viewport.width}-${colorScheme}`;

      test("every state is accessible and fits", async ({ page }) => {
        await open(page, "/");
        await look(page, `start-${at}`);

        const waiting = await askForRefund(page, "/");
        await look(page, `approval-${at}`);

        await waiting.getByRole("button", { name: "Edit…" }).click();
        await waiting.getByRole("textbox", { name: /Amount/ }).fill("20");
        await look(page, `editing-${at}`);
        const reason = waiting.getByRole("textbox", { name: /Reason/ });
        await reason.focus();
        expect(await isOnTop(reason), "a field with focus is not behind the buttons").toBe(true);
        await waiting.getByRole("button", { name: "Back" }).click();

        await waiting.getByRole("button", { name: "Deny…" }).click();
        await look(page, `denying-${at}`);
        await waiting.getByRole("button", { name: "Back" }).click();

        await approveButton(waiting).click();
        await finished(page);
        await look(page, `finished-${at}`);

        await page.getByRole("button", { name: /Conversations/ }).click();
        await expect(page.getByRole("dialog", { name: "Conversations" })).toBeVisible();
        await look(page, `conversations-${at}`);
      });
    });
  }
}

/** Takes a picture, asks axe, and looks for anything wider than the window. */
async function look(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${folder}${name}.png` });
  const { violations, passes } = await new AxeBuilder({ page }).withTags(standards).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
  expect.soft(found, name).toEqual([]);
  expect(passes.length).toBeGreaterThan(20); // rules that found something to look at
  const { scroll, width } = await page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    width: document.documentElement.clientWidth,
  }));
  expect.soft(scroll, `${name}: no sideways scrolling`).toBeLessThanOrEqual(width);
}

/** True when the middle of an element is what one sees there. */
function isOnTop(target: Locator): Promise<boolean> {
  return target.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2) === element;
  });
}
