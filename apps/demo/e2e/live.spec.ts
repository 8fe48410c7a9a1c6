import type { Page } from "@playwright/test";
import { cuttingProxy } from "./cutting-proxy.ts";
import { askForStory, longStory } from "./long-story.ts";
import {
  approveButton,
  askForRefund,
  executions,
  finished,
  lastAnswer,
  mounts,
  open,
  readThread,
  readyCard,
  resetShop,
  say,
  stepLine,
  transcript,
} from "./shop-page.ts";
import { brokenRequest, expect, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path, api } of mounts) {
  test.describe(`live, ${name}`, () => {
    test("reload while it waits: the card is still there and can be decided", async ({ page, request }) => {
      await askForRefund(page, path);
      await page.reload();
      await approveButton(await readyCard(page)).click();
      await finished(page);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
      await page.reload();
      await expect(stepLine(page, "Refund order")).toContainText("Approved by you");
      expect(await page.locator('[data-kind="approval"]').count()).toBe(0);
    });

    test("reload while text streams: it goes on, and the whole of it is there", async ({ page }) => {
      await startStory(page, path);
      await page.reload();
      await expect(transcript(page)).toContainText("Tuesday.");
      await expectWholeStory(page, api);
    });

    test("reload while a tool runs: its progress goes on, and it runs once", async ({ page }) => {
      const waiting = await askForRefund(page, path, "Import 400 orders");
      await approveButton(waiting).click();
      await expect(page.getByRole("progressbar", { name: "Import orders" })).toBeVisible();
      await page.reload();
      const bar = page.getByRole("progressbar", { name: "Import orders" });
      const seen = Number(await bar.getAttribute("value"));
      await expect.poll(async () => Number(await bar.getAttribute("value"))).toBeGreaterThan(seen);
      await finished(page, 20_000);
      await expect(stepLine(page, "Import orders")).toContainText("Done");
      expect(await lastAnswer(page)).toContain("Done. 400 orders came in.");
      expect(await importedChunks(page)).toBe(40);
      expect((await readThread(page, api)).thread.runs.at(-1)?.outcome).toBe("completed");
    });

    test("a second tab follows live, and both end with the same words", async ({ page, context }) => {
      await startStory(page, path);
      const other = await context.newPage();
      await open(other, page.url());
      await expect(transcript(other)).toContainText("Monday.");
      const growth = await watchGrowth(other);
      await expectWholeStory(page, api);
      await expectWholeStory(other, api);
      expect((await growth()).length).toBeGreaterThan(3);
    });

    test("stop ends the run on the server: no more events, and the page goes on", async ({ page }) => {
      await startStory(page, path);
      const pressedAt = Date.now();
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(page.getByText("Stopped by you.")).toBeVisible({ timeout: 1_500 });
      const { thread, seq } = await readThread(page, api);
      const run = thread.runs.at(-1);
      expect(thread.active).toEqual([]);
      expect(run?.outcome).toBe("stopped");
      expect((run?.endedAt ?? Infinity) - pressedAt).toBeLessThan(1_500);
      expect(await longStory()).toContain((await lastAnswer(page)).trim());

      // A whole other run later the stopped one has not grown by a letter.
      await say(page, "Hello");
      await expect(transcript(page).getByText(/Before I change anything, I ask you\. Try/)).toBeVisible();
      const later = await readThread(page, api);
      expect(later.thread.runs[0]).toEqual(run);
      expect(later.seq).toBeGreaterThan(seq);
    });

    test("stop while a tool runs: it is told, and the import ends early", async ({ page }) => {
      const waiting = await askForRefund(page, path, "Import 900 orders");
      await approveButton(waiting).click();
      await expect(page.getByRole("progressbar", { name: "Import orders" })).toBeVisible();
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(page.getByText("Stopped by you.")).toBeVisible({ timeout: 2_000 });
      await expect(stepLine(page, "Import orders")).toContainText("Failed");
      const chunks = await importedChunks(page);
      expect(chunks).toBeLessThan(90);
      await say(page, "Hello");
      await finished(page);
      expect(await importedChunks(page)).toBe(chunks);
    });

    test("stop while it waits: the card closes and nothing runs", async ({ page, request }) => {
      await askForRefund(page, path);
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(page.getByText("Stopped by you.")).toBeVisible({ timeout: 1_500 });
      await expect(stepLine(page, "Refund order")).toContainText("Not run");
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
    });

    test("connections that break mid-text lose no character and double none", async ({ page, baseURL, complaints }) => {
      complaints.expect(brokenRequest);
      const budgets = [5_000, 0, 3_000, 400];
      const proxy = await cuttingProxy(Number(new URL(baseURL ?? "").port), budgets);
      await open(page, `http://127.0.0.1:${proxy.port}${path}`);
      await say(page, askForStory);
      await expect(transcript(page)).toContainText("Monday.");
      const growth = await watchGrowth(page);
      await expectWholeStory(page, api);
      expect(proxy.cuts()).toBe(budgets.length);
      const story = await longStory();
      const shown = await growth();
      expect(shown.length).toBeGreaterThan(3);
      expect(shown.filter((text) => !story.startsWith(text))).toEqual([]); // nor for one moment
      await page.goto("about:blank");
      await proxy.close();
    });

    test("offline for a while: the banner says so, and the text comes whole", async ({ page, context, complaints }) => {
      complaints.expect(brokenRequest);
      await startStory(page, path);
      await context.setOffline(true);
      await expect(page.getByText("You are offline.")).toBeVisible();
      await context.setOffline(false);
      await expect(page.getByText("You are offline.")).toHaveCount(0);
      await expectWholeStory(page, api);
    });
  });
}

async function startStory(page: Page, path: string): Promise<void> {
  await open(page, path);
  await say(page, askForStory);
  await expect(transcript(page)).toContainText("Monday. The shop opened early.");
}

/** On screen, on the server and in the script: the same text. */
async function expectWholeStory(page: Page, api: string): Promise<void> {
  await finished(page, 25_000);
  const story = await longStory();
  expect(await lastAnswer(page)).toBe(story);
  expect((await readThread(page, api)).thread.runs.at(-1)?.text).toBe(story);
}

/** Every text that the assistant's last message shows from now on, as the page draws it. */
async function watchGrowth(page: Page): Promise<() => Promise<readonly string[]>> {
  const shown = await page.evaluateHandle(() => {
    const texts: string[] = [];
    const look = (): void => {
      const message = [...document.querySelectorAll('.tr-message[data-role="assistant"]')].at(-1);
      const paragraphs = [...(message?.querySelectorAll(".tr-prose, .tr-markdown > p") ?? [])].map(
        ({ textContent }) => textContent,
      );
      const text = paragraphs.join("\n\n");
      if (text !== (texts.at(-1) ?? "")) texts.push(text);
    };
    const log = document.querySelector('[role="log"]');
    if (log) new MutationObserver(look).observe(log, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  return () => shown.jsonValue();
}

/** How many pieces of an import arrived at the shop. */
async function importedChunks(page: Page): Promise<number> {
  const response = await page.request.get("/api/shop/counter?tool=importOrders");
  return ((await response.json()) as { count: number }).count;
}
