import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Locator, type Page } from "@playwright/test";
import { composer } from "./shop-page.ts";

const folder = fileURLToPath(new URL("../../../test-results/screens/", import.meta.url));
const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const desk = { width: 1280, height: 800 };
const phone = { width: 320, height: 640 };

/** Opens a scenario of the lab and asks for it, as a person would; or for something else. */
export async function ask(page: Page, scenario: string, message?: string): Promise<void> {
  await page.goto(`/lab?scenario=${encodeURIComponent(scenario)}`);
  const suggestion = page.locator(".tr-suggestion");
  await expect(async () => {
    // Before the page is alive a press goes nowhere.
    if (message === undefined) await suggestion.click({ timeout: 1_000 });
    else {
      await composer(page).fill(message);
      await composer(page).press("Enter");
    }
    await expect(suggestion).toHaveCount(0, { timeout: 1_000 });
  }).toPass();
}

/** The card of a step that asks, past the moment in which nothing decides. */
export async function askCard(page: Page, kind: "approval" | "question" | "link" | "browser"): Promise<Locator> {
  const card = page.locator(`[data-kind="${kind}"]`).first();
  await expect(card).toBeVisible();
  await expect(card.locator(".tr-actions .tr-button[aria-disabled]")).toHaveCount(0);
  return card;
}

export function banner(page: Page): Locator {
  return page.locator(".tr-banner[data-outcome]");
}

/** What this tab posts about steps, one list of decisions for each request. */
export function watchDecisions(page: Page): readonly unknown[][] {
  const posts: unknown[][] = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/decisions")) return;
    posts.push((request.postDataJSON() as { decisions: unknown[] }).decisions);
  });
  return posts;
}

/** Looks at the chat on a desk and on a phone, by day and by night: axe finds nothing, and nothing is cut off. */
export async function look(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const viewport of [desk, phone]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const at = `${name}-${viewport.width}-${colorScheme}`;
      await page.screenshot({ path: `${folder}lab-${at}.png` });
      const { violations, passes } = await new AxeBuilder({ page }).include("main").withTags(standards).analyze();
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
      expect.soft(found, at).toEqual([]);
      expect(passes.length).toBeGreaterThan(20); // rules that found something to look at
      const over = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect.soft(over, `${at}: no sideways scrolling`).toBeLessThanOrEqual(0);
    }
  }
  await page.setViewportSize(desk);
  await page.emulateMedia({ colorScheme: "light" });
}
