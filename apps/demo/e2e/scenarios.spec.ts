import AxeBuilder from "@axe-core/playwright";
import { scenarios } from "../app/lab/scenarios.ts";
import { ask, askCard, banner, look, watchDecisions } from "./lab-page.ts";
import { composer, finished, lastAnswer, stepLine } from "./shop-page.ts";
import { expect, refusedRequest, test } from "./watched-test.ts";

test.setTimeout(60_000);

test("the lab lists every scenario, and its page says what happens", async ({ page }) => {
  await page.goto("/lab");
  const names = page.getByRole("navigation", { name: "Lab" }).locator("a[href*='scenario=']");
  await expect(names).toHaveText(Object.keys(scenarios));
  await names.filter({ hasText: "connect" }).click();
  await expect(page.getByRole("heading", { name: "Import the bank statement of May" })).toBeVisible();
  await expect(page.getByText("A page must be visited before the tool can go on.")).toBeVisible();
  await look(page, "start");
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations).toEqual([]);
});

test("retry: each try is shown with when it comes, and the third one works", async ({ page }) => {
  await ask(page, "retry");
  const step = stepLine(page, "Fetch exchange rates");
  await expect(step).toContainText(/Next try in \d s · attempt 2 · Last: HTTP 503 from the bank/);
  await expect(step).toContainText(/Next try in \d s · attempt 3/);
  await finished(page);
  await expect(step).toContainText("Done");
  expect(await lastAnswer(page)).toContain("Done after all");
  await step.getByRole("button").click();
  await expect(step).toContainText("attempt 3");
  await look(page, "retry");
});

test("failure: after three the assistant explains, and one can go on", async ({ page }) => {
  await ask(page, "failure");
  await finished(page);
  const failed = page.locator('.tr-step[data-status="failed"]');
  await expect(failed).toHaveCount(3);
  await expect(failed.first()).toContainText("The supplier's line is dead.");
  expect(await lastAnswer(page)).toContain("I gave up after 3 tries.");
  await expect(banner(page)).toContainText("Too many steps failed in a row.");
  await look(page, "failure");
  await banner(page).getByRole("button", { name: "Continue" }).click();
  await expect(failed).toHaveCount(6);
  await finished(page);
});

test("repeat: the same call again and again ends the run, which says so", async ({ page }) => {
  await ask(page, "repeat");
  await finished(page);
  await expect(banner(page)).toContainText("The assistant was going in circles");
  const steps = await page.locator(".tr-step").count();
  expect(steps).toBeGreaterThanOrEqual(3);
  expect(steps).toBeLessThanOrEqual(6);
  await look(page, "repeat");
});

test("endless: the limit of rounds is no end: Continue goes on where it was", async ({ page }) => {
  await ask(page, "endless");
  await finished(page);
  await expect(banner(page)).toContainText("The limit of rounds was reached. Nothing was lost.");
  const pages = page.locator(".tr-step-summary");
  await expect(pages).toHaveText(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  await look(page, "endless");
  await banner(page).getByRole("button", { name: "Continue" }).click();
  await expect(pages).toHaveCount(13);
  await finished(page);
  expect(await lastAnswer(page)).toContain("That were all 13 pages.");
  await expect(banner(page)).toHaveCount(0);
  expect(await pages.allTextContents()).toEqual(Array.from({ length: 13 }, (_, index) => String(index + 1)));
});

test("slow tool: it is ended when its time is over, and the assistant goes on", async ({ page }) => {
  await ask(page, "slow tool");
  const step = stepLine(page, "Scan the warehouse");
  await expect(step).toContainText("Hall B");
  await finished(page);
  await expect(step).toContainText("This step took too long and was ended.");
  expect(await lastAnswer(page)).toContain("I could not see it all");
  await look(page, "slow-tool");
});

test("ask me: a form by keyboard; what is missing and what the server does not take stand at their fields", async ({
  page,
  complaints,
}) => {
  complaints.expect(refusedRequest);
  await ask(page, "ask me");
  const card = await askCard(page, "question");
  await look(page, "ask-me");
  await page.keyboard.press("F8");
  await expect(card.getByRole("heading", { name: "What should the gift be?" })).toBeFocused();

  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+Enter");
  await expect(card.getByRole("alert")).toBeFocused();
  await expect(card.getByRole("alert")).toContainText("3 fields need attention: Size, How many, Send the receipt to");
  await look(page, "ask-me-missing");

  await card.getByRole("link", { name: "Size" }).press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await page.keyboard.type("3");
  await card.getByLabel("Send the receipt to").focus();
  await page.keyboard.type("mia@shop.example");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await page.keyboard.press("Control+Enter");
  await expect(card.getByText("Choose at least one.")).toBeVisible();
  await expect(card.getByRole("alert")).toBeFocused();
  await look(page, "ask-me-refused");

  await card.getByLabel("blue").focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Control+Enter");
  await finished(page);
  await expect(composer(page)).toBeFocused();
  const answer = await lastAnswer(page);
  expect(answer).toContain('"pieces":3');
  expect(answer).toContain('"colors":["blue"]');
  expect(answer).toContain('"gift":true');
  await expect(stepLine(page, "Ask the person")).toContainText("Answered by you");
});

test("pick one: the question is there after a reload, and one press answers it", async ({ page }) => {
  await ask(page, "pick one");
  await askCard(page, "question");
  await page.reload();
  const card = await askCard(page, "question");
  await look(page, "pick-one");
  const posts = watchDecisions(page);
  await card.getByRole("button", { name: "green" }).dblclick();
  await finished(page);
  expect(posts).toHaveLength(1);
  expect(await lastAnswer(page)).toContain("it is green");
  await expect(stepLine(page, "Pick a colour")).toContainText("Answered by you: green");
});

test("pick one, skipped: the assistant is told", async ({ page }) => {
  await ask(page, "pick one");
  const card = await askCard(page, "question");
  await card.getByRole("button", { name: "Skip" }).click();
  await finished(page);
  expect(await lastAnswer(page)).toContain("I did not get it: skipped.");
  await expect(stepLine(page, "Pick a colour")).toContainText("Skipped by you");
});

test("connect: the page opens in a tab that knows nothing of this one; Done goes on", async ({ page }) => {
  await ask(page, "connect");
  const card = await askCard(page, "link");
  await look(page, "connect");
  const opening = page.waitForEvent("popup");
  await card.getByRole("link", { name: "Open the page (opens in a new tab)" }).click();
  const bank = await opening;
  await expect(bank.getByRole("heading", { name: "Connect your bank" })).toBeVisible();
  expect(await bank.evaluate(() => window.opener)).toBeNull();
  await bank.close();
  await expect(card.getByRole("button", { name: "I have done this" })).toHaveClass(/tr-primary/);
  await card.getByRole("button", { name: "I have done this" }).click();
  await finished(page);
  expect(await lastAnswer(page)).toContain("I imported");
});

test("where am I: asked for leave, then run in this browser, once", async ({ page }) => {
  await ask(page, "where am I");
  const card = await askCard(page, "approval");
  await look(page, "where-am-i");
  const posts = watchDecisions(page);
  await card.getByRole("button", { name: "Approve once" }).click();
  await finished(page);
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  expect(await lastAnswer(page)).toContain(zone);
  expect(posts).toHaveLength(2);
  expect(posts[1]).toEqual([expect.objectContaining({ action: "answer", value: { timeZone: zone } })]);
});

test("where am I, denied: nothing runs in the browser", async ({ page }) => {
  await ask(page, "where am I");
  const card = await askCard(page, "approval");
  await card.getByRole("button", { name: "Deny…" }).click();
  await card.getByRole("textbox").fill("none of your business");
  await card.getByRole("textbox").press("Enter");
  await finished(page);
  expect(await lastAnswer(page)).toContain("I did not get it: denied.");
});

test("research: the sub-agent's steps are below it, its approval is found by F8, and denying it is told", async ({
  page,
}) => {
  await ask(page, "research");
  const card = await askCard(page, "approval");
  const steps = page.getByRole("list", { name: "Researcher" });
  await expect(steps).toContainText("Find payments");
  await expect(steps.locator('[data-kind="approval"]')).toHaveCount(1);
  await expect(page.getByRole("button", { name: /^Researcher/ })).toContainText("Needs you");
  await look(page, "research");
  await page.keyboard.press("F8");
  await expect(card.getByRole("heading", { name: "Give money back" })).toBeFocused();
  await page.keyboard.press("d");
  await page.keyboard.type("not yet");
  await page.keyboard.press("Enter");
  await finished(page);
  expect(await lastAnswer(page)).toContain("nobody wanted it given back");
  await expect(stepLine(page, "Give money back")).toContainText("Denied by you: not yet");
});

test("research, approved: what the sub-agent says is the step's result", async ({ page }) => {
  await ask(page, "research");
  const card = await askCard(page, "approval");
  await card.getByRole("button", { name: "Approve once" }).click();
  await finished(page);
  expect(await lastAnswer(page)).toContain("one charge was given back");
  const research = page.locator('.tr-step[data-status="succeeded"]').filter({ hasText: "Researcher" });
  await expect(research).toContainText("2 of 2 steps done");
  await look(page, "research-done");
});
