import type { Page } from "@playwright/test";
import { finished, lastAnswer, say } from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

interface Watched {
  /** Requests to anywhere but the page's own server. */
  readonly elsewhere: readonly string[];
  /** Scripts of the text that ran: each would open a dialog. */
  readonly dialogs: readonly string[];
  /** What the policy refused since the page was loaded. */
  violations(): Promise<readonly string[]>;
}

async function watch(page: Page): Promise<Watched> {
  const elsewhere: string[] = [];
  const dialogs: string[] = [];
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") elsewhere.push(request.url());
  });
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.addInitScript(() => {
    const refused: string[] = [];
    Object.assign(window, { refused });
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
      refused.push(`${effectiveDirective} ${blockedURI} ${sample}`),
    );
  });
  return {
    elsewhere,
    dialogs,
    violations: () => page.evaluate(() => (window as unknown as { refused: string[] }).refused), // set above
  };
}

/** One of each kind of thing that is drawn; an empty list of violations also speaks for the server's markup. */
const states = [
  "injection",
  "markdown",
  "markdown-writing",
  "timeline",
  "timeline-running",
  "approval",
  "form-question",
  "batch",
  "progress",
  "table-result",
  "remembered",
  "long-text",
];

test("under a strict policy every kind of state works, and nothing is refused", async ({ page }) => {
  test.setTimeout(120_000);
  const watched = await watch(page);
  for (const state of states) {
    const response = await page.goto(`/csp?state=${encodeURIComponent(state)}`);
    expect(response?.headers()["content-security-policy"]).toContain("style-src 'self';");
    await expect(page.locator(".tr-chat")).toBeVisible();
    await expect(page.locator(".tr-message, .tr-suggestion").first()).toBeVisible();
    if (state.startsWith("markdown")) await expect(page.locator(".tr-markdown table")).toBeVisible();
    if (state.startsWith("timeline")) {
      await page.getByRole("button", { name: "Timeline" }).click();
      await expect(page.getByRole("region", { name: "Timeline" })).toBeVisible();
    }
    expect(await watched.violations(), state).toEqual([]);
  }
  expect(watched.elsewhere).toEqual([]);
  expect(watched.dialogs).toEqual([]);
});

for (const path of ["/csp", "/lab"]) {
  test(`${path}: a model that is made to send data away fetches nothing and runs nothing`, async ({ page }) => {
    const watched = await watch(page);
    await page.goto(`${path}?scenario=evil`);
    const suggestion = page.locator(".tr-suggestion");
    await expect(async () => {
      await suggestion.click({ timeout: 1_000 });
      await expect(suggestion).toHaveCount(0, { timeout: 1_000 });
    }).toPass();
    await finished(page);
    await expect(page.locator(".tr-markdown")).toContainText("[image — evil.test]");
    await expect(page.locator(".tr-markdown")).toContainText("https://shop.example (evil.test)");
    await expect(page.locator(".tr-markdown img, .tr-markdown script, .tr-markdown iframe")).toHaveCount(0);
    await page.reload();
    await expect(page.locator(".tr-markdown table")).toBeVisible();
    // The page is alive.
    await say(page, "Which colour for the door?");
    await expect(page.locator('[data-kind="question"]')).toBeVisible();
    expect(await lastAnswer(page)).toBe("");
    expect(watched.elsewhere).toEqual([]);
    expect(watched.dialogs).toEqual([]);
    expect(await watched.violations()).toEqual([]);
  });
}

test("the watch sees what it watches for: a picture, an inline style and an inline script", async ({
  page,
  complaints,
}) => {
  complaints.expect(/Content Security Policy|ERR_/);
  const watched = await watch(page);
  await page.goto("/csp?state=injection");
  await page.evaluate(() => {
    const host = document.body.appendChild(document.createElement("div"));
    host.innerHTML = '<p style="color:red">x</p><img src="https://evil.test/x">';
    host.appendChild(document.createElement("script")).textContent = "alert(1)";
  });
  const refused = async () => new Set((await watched.violations()).map((each) => each.split(" ")[0]));
  await expect.poll(refused).toEqual(new Set(["style-src-attr", "script-src-elem", "img-src"]));
  const before = watched.elsewhere.length; // Chromium also tells of requests that it refuses
  await page.goto("/lab?state=injection");
  await page.evaluate(() => {
    document.body.appendChild(document.createElement("img")).src = "https://evil.test/x";
    document.body.appendChild(document.createElement("script")).textContent = "alert(1)";
  });
  await expect.poll(() => watched.elsewhere.slice(before)).toEqual(["https://evil.test/x"]);
  expect(watched.dialogs).toEqual(["1"]);
});
