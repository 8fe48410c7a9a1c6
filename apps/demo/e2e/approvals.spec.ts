import type { Page } from "@playwright/test";
import { ask, askCard, look, watchDecisions } from "./lab-page.ts";
import {
  askForRefund,
  card,
  executions,
  finished,
  lastAnswer,
  mounts,
  readyCard,
  refundedCents,
  resetShop,
  say,
  stepLine,
  threadId,
  waitingCall,
} from "./shop-page.ts";
import { brokenRequest, expect, refusedRequest, test } from "./watched-test.ts";

test.setTimeout(60_000);

const remember = "Don't ask again…";
const summary = (page: Page) => page.locator(".tr-grants > summary");

/** Sends another message to the conversation that is open, and waits until its run began. */
async function askAgain(page: Page, text: string): Promise<void> {
  const before = await page.locator('.tr-message[data-role="assistant"]').count();
  await say(page, text);
  await expect(page.locator('.tr-message[data-role="assistant"]')).toHaveCount(before + 1);
}

test.describe("a batch of three with one that cannot be undone", () => {
  test("approving together leaves it out: it waits for a decision of its own", async ({ page }) => {
    await ask(page, "clear out");
    await expect(card(page)).toHaveCount(3);
    await expect(page.getByText("3 steps need your decision")).toBeVisible();
    const together = page.getByRole("button", { name: "Approve 2" });
    for (const each of await card(page).all()) await each.scrollIntoViewIfNeeded(); // only what was on screen counts
    await expect(together).toBeVisible();
    await expect(page.locator("[data-destructive] .tr-primary")).toHaveCount(0);
    await look(page, "batch");
    const posts = watchDecisions(page);
    await together.click();
    await expect(card(page)).toHaveCount(1);
    expect(posts.map((decisions) => decisions.length)).toEqual([2]);
    await expect(stepLine(page, "Give money back")).toContainText("Approved by you");

    const last = page.locator("[data-destructive]");
    await expect(last).toContainText("Cannot be undone");
    await expect(last.getByRole("button", { name: remember })).toHaveCount(0);
    await last.getByRole("button", { name: "Approve: Delete order" }).click();
    await finished(page);
    expect(await lastAnswer(page)).toContain("3 of 3 done, 0 not run.");
  });

  test("denying together takes all of them", async ({ page }) => {
    await ask(page, "clear out");
    await expect(card(page)).toHaveCount(3);
    await page.getByRole("button", { name: "Deny all" }).click();
    await finished(page);
    expect(await lastAnswer(page)).toContain("0 of 3 done, 3 not run.");
    await expect(page.locator('.tr-step[data-status="not-run"]')).toHaveCount(3);
  });
});

test("an edit: what the form refuses is not sent, what the server refuses stands at its field, the right one runs", async ({
  page,
  complaints,
}) => {
  complaints.expect(refusedRequest);
  await ask(page, "give back");
  const waiting = await askCard(page, "approval");
  const posts = watchDecisions(page);
  await waiting.getByRole("button", { name: "Edit…" }).click();
  const amount = waiting.getByRole("textbox", { name: /Amount/ });
  const send = waiting.getByRole("button", { name: "Approve with changes" });
  await amount.fill("-5");
  await send.click();
  await expect(waiting.getByRole("alert")).toBeFocused();
  await expect(amount).toHaveAttribute("aria-invalid", "true");
  expect(posts).toEqual([]);
  await amount.fill("250");
  await send.click();
  await expect(waiting.getByText("At most 100.00 EUR can be given back.").first()).toBeVisible();
  await expect(amount).toHaveAttribute("aria-invalid", "true");
  await look(page, "edit-refused");
  await amount.fill("12.5");
  await send.click();
  await finished(page);
  await expect(stepLine(page, "Give money back")).toContainText("Approved by you with 1 change");
  expect(await lastAnswer(page)).toContain('"givenBack":12.5');
  expect(posts).toHaveLength(2);
});

test.describe("an approval that runs out", () => {
  test("says so and does not run; the late press is told the truth", async ({ page }) => {
    await ask(page, "courier", "Book a courier, the price holds 3 s");
    await expect(card(page)).toContainText(/expires in \d s/);
    const step = await openStep(page);
    await finished(page, 20_000);
    const line = stepLine(page, "Book a courier");
    await expect(line).toContainText(/Expired at \d\d:\d\d\. It was not run, and the assistant was told\./);
    expect(await lastAnswer(page)).toContain("I did not get it");
    expect(await approveLate(page, step)).toEqual([410, "expired"]);
    await look(page, "expired");
  });

  test("keeps waiting when it is asked to, and can be approved after its first end", async ({ page }) => {
    await ask(page, "courier", "Book a courier, the price holds 6 s");
    const waiting = await askCard(page, "approval");
    const until = await readDeadline(page);
    await passes(page, until - 3_000);
    await waiting.getByRole("button", { name: "Keep waiting 6 s" }).press("Enter");
    await expect.poll(() => readDeadline(page)).toBeGreaterThan(until);
    await expect(waiting.getByRole("button", { name: "Keep waiting 6 s" })).toBeFocused();
    await passes(page, until + 500); // its first end is over
    await waiting.getByRole("button", { name: "Approve once" }).click();
    await finished(page);
    await expect(stepLine(page, "Book a courier")).toContainText("Approved by you");
  });

  test("shows its end and the button on every screen", async ({ page }) => {
    await ask(page, "courier", "Book a courier, the price holds 50 s");
    await askCard(page, "approval");
    await look(page, "expires-soon");
  });
});

test.describe("an approval for this conversation", () => {
  test("the second call runs by itself and says why; taken back, it asks again", async ({ page }) => {
    await ask(page, "mail Mia");
    const waiting = await askCard(page, "approval");
    await waiting.getByRole("button", { name: remember }).click();
    await expect(waiting).toContainText("Covers: Mails to mia@shop.example, up to 5 more times, for 1 h.");
    await look(page, "remember");
    await waiting.getByRole("button", { name: "For this conversation" }).click();
    await finished(page);
    await expect(summary(page)).toHaveText("1 remembered decision");

    await askAgain(page, "Mail Mia once more");
    await finished(page);
    await expect(card(page)).toHaveCount(0);
    await expect(page.locator(".tr-step")).toHaveCount(2);
    const second = stepLine(page, "Send mail");
    await expect(second).toContainText("Letter 2");
    await expect(second).toContainText("Approved earlier by you.");
    await look(page, "by-grant");

    await second.getByRole("button", { name: "Show it" }).click();
    const grant = page.locator("[data-grant]");
    await expect(grant).toBeFocused();
    await expect(grant).toContainText("Mails to mia@shop.example");
    await expect(grant).toContainText(
      /for this conversation · used 1 of 5 times · until .*\d\d:\d\d · by you, \d\d:\d\d/,
    );
    await look(page, "grants");
    await grant.getByRole("button", { name: "Revoke: Mails to mia@shop.example" }).click();
    await expect(summary(page)).toHaveCount(0);
    expect(await focusIsLost(page)).toBe(false);

    await askAgain(page, "Mail Mia again");
    const third = await askCard(page, "approval");
    await expect(third).toContainText("Letter 3");
    await expect(second).toContainText("Approved by an earlier decision."); // what was said of it is gone
  });

  test("by keyboard alone: to the choice and back, then taken, listed and revoked", async ({ page }) => {
    await ask(page, "mail Mia");
    const waiting = await askCard(page, "approval");
    await page.keyboard.press("F8");
    await expect(waiting.getByRole("heading")).toBeFocused();
    for (let presses = 0; presses < 4; presses++) await page.keyboard.press("Tab");
    const open = waiting.getByRole("button", { name: remember });
    await expect(open).toBeFocused();
    await page.keyboard.press("Space");
    await expect(waiting.getByRole("group")).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(open).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(waiting.getByRole("button", { name: "For this run" })).not.toHaveAttribute("aria-disabled", "true");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await expect(waiting.getByRole("button", { name: "For this conversation" })).toBeFocused();
    await page.keyboard.press("Enter");
    await finished(page);
    expect(await focusIsLost(page)).toBe(false);
    await summary(page).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab"); // the list, which may scroll
    await page.keyboard.press("Tab");
    await expect(page.getByRole("button", { name: "Revoke: Mails to mia@shop.example" })).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(summary(page)).toHaveCount(0);
    expect(await focusIsLost(page)).toBe(false);
  });
});

test.describe("a denial", () => {
  test("is remembered: a smaller sum asks again, and the card says what was denied", async ({ page }) => {
    await ask(page, "give back");
    const waiting = await askCard(page, "approval");
    await deny(page, "Ask Mia first");
    await expect(stepLine(page, "Give money back")).toContainText("Denied by you: Ask Mia first");
    await expect(waiting).toContainText("20");
    await expect(waiting).toContainText("Denied before in this run by you.");
    await expect(waiting).toContainText("Ask Mia first");
    await look(page, "denied-before");
    await deny(page, "No");
    await finished(page);
    expect(await lastAnswer(page)).toContain("Then I leave it.");
  });

  test("for this conversation refuses the same call without asking, and is listed", async ({ page }) => {
    await ask(page, "mail Mia");
    const waiting = await askCard(page, "approval");
    await waiting.getByRole("button", { name: "Deny…" }).click();
    await waiting.getByRole("checkbox", { name: "Don't ask again in this conversation" }).check();
    await look(page, "deny-remember");
    await waiting.getByRole("textbox").fill("No mails");
    await waiting.getByRole("textbox").press("Enter");
    await finished(page);
    await askAgain(page, "Mail Mia once more");
    await finished(page);
    const second = stepLine(page, "Send mail");
    await expect(second).toContainText("Blocked");
    await expect(second).toContainText("Denied earlier by you: No mails");
    await summary(page).click();
    await expect(page.locator("[data-grant]")).toContainText("Denied Mails to mia@shop.example");
  });
});

test("decided in the other tab: the card becomes its result, and the late press is told", async ({ page, context }) => {
  await ask(page, "give back");
  const here = await askCard(page, "approval");
  await expect(page).toHaveURL(/thread=/);
  const other = await context.newPage();
  await other.goto(page.url());
  const there = await askCard(other, "approval");
  await there.getByRole("heading").focus();
  const step = await openStep(other);
  await here.getByRole("button", { name: "Approve once" }).click();
  await expect(card(other)).toHaveCount(0, { timeout: 2_000 });
  await expect(stepLine(other, "Give money back")).toContainText("Approved by you");
  expect(await focusIsLost(other)).toBe(false);
  for (const tab of [page, other]) await finished(tab);
  expect(await lastAnswer(other)).toBe(await lastAnswer(page));
  expect(await approveLate(other, step)).toEqual([409, "decided"]);
});

test("somebody who may only read sees everything and can press nothing; the server refuses what a script sends", async ({
  page,
  browser,
}) => {
  await ask(page, "mail Mia");
  const waiting = await askCard(page, "approval");
  await waiting.getByRole("button", { name: remember }).click();
  await expect(waiting.getByRole("button", { name: "For this conversation" })).not.toHaveAttribute(
    "aria-disabled",
    "true",
  );
  await waiting.getByRole("button", { name: "For this conversation" }).click();
  await finished(page);
  await askAgain(page, "Give back order 1042");
  await askCard(page, "approval");

  const reader = await browser.newContext();
  const view = await reader.newPage();
  await view.goto(page.url());
  await expect(card(view)).toContainText("Waiting for someone who may decide.");
  await expect(card(view).getByRole("button")).toHaveCount(0);
  await expect(view.getByRole("textbox")).toHaveCount(0);
  await expect(stepLine(view, "Send mail")).toContainText(/Approved by Guest \w{4}/);
  await summary(view).click();
  await expect(view.locator("[data-grant]")).toContainText("Mails to mia@shop.example");
  await expect(view.locator("[data-grant]").getByRole("button")).toHaveCount(0);
  await look(view, "viewer");

  const api = addressOf(page);
  const { thread } = await (await reader.request.get(api)).json();
  const { callId, digest } = waitingCall({ seq: 0, thread });
  const sent: readonly (readonly [string, object])[] = [
    ["decisions", { decisions: [{ callId, digest, action: "approve" }] }],
    ["decisions", { decisions: [{ callId, digest, action: "deny" }] }],
    ["decisions", { decisions: [{ callId, digest, action: "extend" }] }],
    ["revoke", { grantId: thread.grants[0].grantId }],
    ["stop", { runId: thread.active[0].runId }],
    ["messages", { message: { text: "Hello" } }],
  ];
  for (const [index, [path, body]] of sent.entries()) {
    const answer = await reader.request.post(`${api}/${path}`, { data: { key: `reader-${index}`, ...body } });
    expect([path, answer.status()]).toEqual([path, 403]);
  }
  expect((await reader.request.delete(api)).status()).toBe(403);
  await reader.close();
  await askCard(page, "approval"); // still open, for the one who may
});

for (const { name, path } of mounts) {
  test(`Try to break it, ${name}: all four buttons on one card, and one refund in the end`, async ({
    page,
    request,
    complaints,
  }) => {
    complaints.expect(refusedRequest);
    complaints.expect(brokenRequest); // while the server is dead
    await resetShop(request);
    await askForRefund(page, path);
    const id = await threadId(page);
    const strip = page.getByRole("complementary", { name: "Try to break it" });
    const print = strip.locator("output");
    await strip.getByRole("button", { name: "Forge an approval" }).click();
    await expect(print).toContainText(/409 · Refused\..* Nothing ran\./);
    await strip.getByRole("button", { name: "Reload" }).click();
    await expect(print).toContainText("Reloaded. Nothing was lost: 1 approval still waiting.");
    const life = await lifeOf(page);
    await strip.getByRole("button", { name: "Restart the server" }).click();
    await expect(print).toContainText(/Server back at .* Nothing was lost: 1 approval still waiting\./, {
      timeout: 20_000,
    });
    expect(await lifeOf(page)).not.toBe(life);
    expect(await executions(request, "refundOrder", "1042")).toBe(0);
    await readyCard(page);
    await strip.getByRole("button", { name: "Click 20 times" }).click();
    await expect(print).toContainText("20 clicks, 1 decision, 1 refund.");
    await finished(page);
    expect(await executions(request, "refundOrder", "1042")).toBe(1);
    expect(await refundedCents(request, "1042")).toBe(4990);
    expect(await threadId(page)).toBe(id);
  });
}

/** Denies the open approval with a reason. */
async function deny(page: Page, reason: string): Promise<void> {
  const waiting = await askCard(page, "approval");
  await waiting.getByRole("button", { name: "Deny…" }).click();
  await waiting.getByRole("textbox").fill(reason);
  await waiting.getByRole("textbox").press("Enter");
}

/** When the open question ends, as the server says. */
async function readDeadline(page: Page): Promise<number> {
  const { ask } = (await openStep(page)) as { ask?: { expiresAt: number } };
  return ask?.expiresAt ?? 0;
}

/** The step that waits, as the server tells a browser. */
async function openStep(page: Page): Promise<ReturnType<typeof waitingCall>> {
  return waitingCall(await (await page.request.get(addressOf(page))).json());
}

/** Approves a step that was on screen once, as a script on the page would; what the server says to it. */
async function approveLate(page: Page, { callId, digest }: { callId: string; digest: string }): Promise<unknown[]> {
  const data = { key: "late", decisions: [{ callId, digest, action: "approve" }] };
  const answer = await page.request.post(`${addressOf(page)}/decisions`, { data });
  return [answer.status(), (await answer.json()).error?.code];
}

/** Where the server keeps the conversation of this tab. */
function addressOf(page: Page): string {
  const { origin, searchParams } = new URL(page.url());
  return `${origin}/api/toolrun-lab/threads/${searchParams.get("thread")}`;
}

/** Until the clock shows this time. */
async function passes(page: Page, at: number): Promise<void> {
  await page.waitForFunction((until) => Date.now() >= until, at);
}

/** True when focus fell to the page itself. */
function focusIsLost(page: Page): Promise<boolean> {
  return page.evaluate(() => document.activeElement === document.body);
}

async function lifeOf(page: Page): Promise<string> {
  return ((await (await page.request.get("/api/demo/server")).json()) as { life: string }).life;
}
