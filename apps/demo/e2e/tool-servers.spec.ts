import { ask, askCard } from "./lab-page.ts";
import { ports } from "./ports.ts";
import { finished, lastAnswer, say, stepLine } from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

// The reference servers of the protocol, as they are published: one demo starts them itself, another is given addresses.
for (const { wire, port } of [
  { wire: "stdio", port: undefined },
  { wire: "HTTP", port: ports.openai },
]) {
  test.describe(`MCP servers over ${wire}`, () => {
    if (port !== undefined) test.use({ baseURL: `http://127.0.0.1:${port}` });

    test("a tool of theirs asks, and what was approved is what they get", async ({ page }) => {
      await ask(page, "tool server");
      const card = await askCard(page, "approval");
      await card.getByRole("button", { name: "Edit…" }).click();
      await card.getByRole("textbox", { name: /^a\b/i }).fill("20");
      await card.getByRole("button", { name: "Approve with changes" }).click();
      await finished(page);
      expect(await lastAnswer(page)).toContain("The sum of 20 and 25 is 45.");
    });

    test("what they ask in the middle of a call is a question, and the answer reaches them", async ({ page }) => {
      await ask(page, "tool server asks");
      await (await askCard(page, "approval")).getByRole("button", { name: /^Approve/ }).click();
      const question = await askCard(page, "question");
      await expect(question).toContainText("Please provide inputs for the following fields:");
      await page.reload();
      await (await askCard(page, "question")).getByRole("textbox", { name: "String", exact: true }).fill("Ada");
      await question.getByRole("button", { name: "Send answer" }).click();
      await finished(page);
      expect(await lastAnswer(page)).toContain('"name": "Ada"');
    });

    test("their progress is the step's, and Stop reaches them", async ({ page }) => {
      await ask(page, "tool server works");
      await (await askCard(page, "approval")).getByRole("button", { name: /^Approve/ }).click();
      await expect(page.getByRole("progressbar")).toBeVisible();
      await page.getByRole("button", { name: "Stop" }).click();
      await expect(page.locator('.tr-banner[data-outcome="stopped"]')).toBeVisible();
      await expect(stepLine(page, "Long")).toBeVisible();
    });

    test("reading runs at once, writing asks", async ({ page }) => {
      await ask(page, "files of a tool server");
      await finished(page);
      expect(await lastAnswer(page)).toContain("the customer was charged twice");
      await say(page, "Write the answer down");
      const card = await askCard(page, "approval");
      await expect(card).toContainText("Refunded.");
      await card.getByRole("button", { name: /Deny/ }).click();
      await card.getByRole("button", { name: "Deny", exact: true }).click();
      await finished(page);
      expect(await lastAnswer(page)).toContain("That was not to be");
    });
  });
}
