import type { Page } from "@playwright/test";
import {
  approveButton,
  card,
  composer,
  executions,
  finished,
  mounts,
  open,
  readyCard,
  refundedCents,
  resetShop,
  stepLine,
} from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path } of mounts) {
  test(`[M-48] by keyboard alone, ${name}: start, edit, deny and approve; focus is never lost`, async ({
    page,
    request,
  }) => {
    await open(page, path);
    const strays = await watchFocus(page);
    const suggestion = page.getByRole("button", { name: "Refund order 1042" });
    await tabTo(page, suggestion);
    await page.keyboard.press("Enter");
    await expect(composer(page)).toBeFocused();

    // Edit
    const editing = await readyCard(page);
    await expect(composer(page)).toBeFocused(); // the card came by itself and moved nothing
    await page.keyboard.press("F8");
    await expect(editing.getByRole("heading", { name: "Refund order" })).toBeFocused();
    await page.keyboard.press("e");
    const amount = editing.getByRole("textbox", { name: /Amount/ });
    await expect(amount).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(editing.getByRole("button", { name: "Edit…" })).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(amount).toBeFocused();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("20");
    await page.keyboard.press("Control+Enter");
    await finished(page);
    await expect(composer(page)).toBeFocused();
    expect(await refundedCents(request, "1042")).toBe(2000);

    // Deny
    await page.keyboard.type("Refund 5 EUR of order 1042");
    await page.keyboard.press("Enter");
    const denying = await readyCard(page);
    await page.keyboard.press("F8");
    await page.keyboard.press("d");
    await expect(denying.getByRole("textbox")).toBeFocused();
    await page.keyboard.press("Escape"); // back, never a denial
    await expect(denying.getByRole("button", { name: "Deny…" })).toBeFocused();
    await page.keyboard.press("Enter");
    await page.keyboard.type("ask her first");
    await page.keyboard.press("Enter");
    await finished(page);
    await expect(stepLine(page, "Refund order")).toContainText("Denied by you: ask her first");
    await expect(composer(page)).toBeFocused();

    // Approve
    await page.keyboard.type("Refund 6 EUR of order 1042");
    await page.keyboard.press("Enter");
    await readyCard(page);
    await page.keyboard.press("F8");
    await page.keyboard.press("a");
    await finished(page);
    await expect(composer(page)).toBeFocused();
    expect(await refundedCents(request, "1042")).toBe(2600);

    // Letters decide inside the card only, and never in a field.
    await page.keyboard.type("Refund 7 EUR of order 1042, and add a dead end");
    await page.keyboard.press("Enter");
    const last = await readyCard(page);
    await page.keyboard.type("a");
    await expect(composer(page)).toHaveValue("a");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("F8");
    await tabTo(page, approveButton(last));
    await page.keyboard.press("Space");
    await finished(page);
    await expect(card(page)).toHaveCount(0);
    expect(await executions(request, "refundOrder", "1042")).toBe(3);
    expect(await strays()).toEqual([]);
  });
}

/** Presses Tab until `target` has focus, as a person would. */
async function tabTo(page: Page, target: ReturnType<Page["getByRole"]>): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  await expect(target).toBeFocused();
}

/** Looks at every frame whether focus, once somewhere, has fallen back on the page itself. */
async function watchFocus(page: Page): Promise<() => Promise<readonly string[]>> {
  const strays = await page.evaluateHandle(() => {
    const found: string[] = [];
    let last = "";
    const look = (): void => {
      const active = document.activeElement;
      if (active && active !== document.body) last = active.outerHTML.slice(0, 120);
      else if (last !== "" && document.hasFocus()) {
        found.push(`after ${last}`);
        last = "";
      }
      requestAnimationFrame(look);
    };
    look();
    return found;
  });
  return () => strays.jsonValue();
}
