import type { Page } from "@playwright/test";
import { askForStory, longStory } from "./long-story.ts";
import {
  approveButton,
  askForRefund,
  finished,
  lastAnswer,
  mounts,
  open,
  readyCard,
  resetShop,
  say,
  transcript,
} from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path } of mounts) {
  test.describe(`tabs, ${name}`, () => {
    test.setTimeout(60_000);

    test("[T12] seven tabs over HTTP/1.1 have one stream, and the seventh decides while it streams", async ({
      page,
    }) => {
      await askForRefund(page, path, "Import 1000 orders");
      const tabs = await openAgain(page, 7);
      const streams = tabs.map(watchStreams);
      const seventh = tabs[6] as Page; // there are seven
      await approveButton(await readyCard(seventh)).click();
      for (const tab of tabs) await expect(tab.getByRole("progressbar", { name: "Import orders" })).toBeVisible();
      expect(streams.filter((stream) => stream.isOpen())).toHaveLength(1);
      await seventh.getByRole("button", { name: "Stop" }).click();
      for (const tab of tabs) await expect(tab.getByText("Stopped by you.")).toBeVisible();
      expect(streams.filter((stream) => stream.isOpen())).toHaveLength(0);
      expect(streams.filter((stream) => stream.count() > 0).length).toBeLessThan(4);
    });

    test("the tab that streams is closed in the middle: the others show the whole text", async ({ page }) => {
      await open(page, path);
      await say(page, "Hello");
      await finished(page);
      const tabs = await openAgain(page, 4);
      const streams = tabs.map(watchStreams);
      await say(page, askForStory);
      for (const tab of tabs) await expect(transcript(tab)).toContainText("Monday. The shop opened early.");
      const at = streams.findIndex((stream) => stream.isOpen());
      await tabs[at]?.close();
      const others = tabs.filter((tab) => !tab.isClosed());
      expect(others).toHaveLength(3);
      for (const tab of others) {
        await finished(tab, 40_000);
        expect(await lastAnswer(tab)).toBe(await longStory());
      }
      expect(streams.filter((stream) => stream.isOpen())).toHaveLength(0);
    });
  });
}

/** The page and as many tabs more as there should be, all with its conversation. */
async function openAgain(page: Page, count: number): Promise<Page[]> {
  await expect(page).toHaveURL(/\?thread=/);
  const tabs = [page];
  while (tabs.length < count) {
    const tab = await page.context().newPage();
    await open(tab, page.url());
    await expect(transcript(tab)).toContainText(/Import|Hello/);
    tabs.push(tab);
  }
  return tabs;
}

/** Whether a tab has a stream of its own, and how many it had. */
function watchStreams(tab: Page): { readonly isOpen: () => boolean; readonly count: () => number } {
  const running = new Set<unknown>();
  let count = 0;
  tab.on("request", (request) => {
    if (!request.url().includes("/events?")) return;
    running.add(request);
    count++;
  });
  tab.on("requestfinished", (request) => running.delete(request));
  tab.on("requestfailed", (request) => running.delete(request));
  tab.on("close", () => running.clear());
  return { isOpen: () => running.size > 0, count: () => count };
}
