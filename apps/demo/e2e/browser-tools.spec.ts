import type { Page } from "@playwright/test";
import { ask, askCard, watchDecisions } from "./lab-page.ts";
import { finished, lastAnswer, stepLine } from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

const exactly = "Where am I exactly?";

test("[P24] two tabs: one runs it, the other says so and follows", async ({ page, context }) => {
  await slowGeolocation(page);
  await ask(page, "where am I", exactly);
  const card = await askCard(page, "approval");
  await expect(page).toHaveURL(/thread=/);
  const other = await context.newPage();
  await slowGeolocation(other);
  await other.goto(page.url());
  await askCard(other, "approval");
  const posts = [watchDecisions(page), watchDecisions(other)];
  await card.getByRole("button", { name: "Approve once" }).click();

  const tabs = [page, other];
  const who = async (words: string): Promise<number> => {
    const seen = await Promise.all(tabs.map((tab) => tab.getByText(words).count()));
    return seen.reduce((sum, count) => sum + count, 0);
  };
  await expect.poll(() => who("This browser is doing it now.")).toBe(1);
  await expect.poll(() => who("Another tab of this browser is doing it.")).toBe(1);
  const located = async (): Promise<number> => (await timesLocated(page)) + (await timesLocated(other));
  await expect.poll(located).toBe(1);
  for (const tab of tabs) await tab.evaluate(() => window.dispatchEvent(new Event("test:go-on")));
  for (const tab of tabs) await finished(tab);
  for (const tab of tabs) expect(await lastAnswer(tab)).toContain('"latitude":53.5');
  const answers = posts.flat(2).filter((decision) => JSON.stringify(decision).includes('"action":"answer"'));
  expect(answers).toHaveLength(1);
  expect(await located()).toBe(1);
});

test("the tab that runs it is closed: the other one takes over", async ({ page, context }) => {
  await slowGeolocation(page);
  await ask(page, "where am I", exactly);
  await (await askCard(page, "approval")).getByRole("button", { name: "Approve once" }).click();
  await expect(page.getByText("This browser is doing it now.")).toBeVisible();
  const other = await context.newPage();
  await slowGeolocation(other);
  await other.goto(page.url());
  await expect(other.getByText("Another tab of this browser is doing it.")).toBeVisible();
  await page.close();
  await expect(other.getByText("This browser is doing it now.")).toBeVisible();
  await expect.poll(() => timesLocated(other)).toBe(1); // it reads the thread first
  await other.evaluate(() => window.dispatchEvent(new Event("test:go-on")));
  await finished(other);
  expect(await lastAnswer(other)).toContain('"latitude":53.5');
});

test("[M-23] two calls of one turn ride one request", async ({ page, context }) => {
  await context.grantPermissions(["geolocation"]);
  await context.setGeolocation({ latitude: 53.5, longitude: 10 });
  await ask(page, "where am I", "Where am I, twice and exactly?");
  await expect(page.locator('[data-kind="approval"]')).toHaveCount(2);
  const posts = watchDecisions(page);
  await page.getByRole("button", { name: "Approve 2" }).click();
  await finished(page);
  expect(posts.map((decisions) => decisions.length)).toEqual([2, 2]);
  expect(await lastAnswer(page)).toContain('"latitude":53.5');
});

test("[L10] what the browser refuses is told to the assistant by its message", async ({ page }) => {
  await ask(page, "where am I", exactly);
  await (await askCard(page, "approval")).getByRole("button", { name: "Approve once" }).click();
  await finished(page);
  await expect(stepLine(page, "Look where you are")).toContainText("User denied Geolocation");
  expect(await lastAnswer(page)).toContain("It did not work: User denied Geolocation");
});

test("skipped while it runs: the run goes on, and the late answer goes nowhere", async ({ page }) => {
  await slowGeolocation(page);
  await ask(page, "where am I", exactly);
  await (await askCard(page, "approval")).getByRole("button", { name: "Approve once" }).click();
  await expect(page.getByText("This browser is doing it now.")).toBeVisible();
  const posts = watchDecisions(page);
  await (await askCard(page, "browser")).getByRole("button", { name: "Skip" }).click();
  await finished(page);
  await page.evaluate(() => window.dispatchEvent(new Event("test:go-on")));
  expect(await lastAnswer(page)).toContain("I did not get it: skipped.");
  expect(posts).toHaveLength(1);
});

/** A browser that takes its time to say where it is, until the test says go on; and counts how often it was asked. */
async function slowGeolocation(page: Page): Promise<void> {
  await page.addInitScript(() => {
    let times = 0;
    Object.defineProperty(window, "timesLocated", { get: () => times });
    navigator.geolocation.getCurrentPosition = (found) => {
      times++;
      const coords = { latitude: 53.5, longitude: 10 } as GeolocationCoordinates; // all that the page reads
      addEventListener("test:go-on", () => found({ coords } as GeolocationPosition), { once: true });
    };
  });
}

function timesLocated(page: Page): Promise<number> {
  return page.evaluate(() => Number(Reflect.get(window, "timesLocated")));
}
