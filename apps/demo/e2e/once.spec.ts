import {
  approveButton,
  askForRefund,
  card,
  executions,
  finished,
  mounts,
  open,
  orderRow,
  postDecisions,
  readThread,
  readyCard,
  refundedCents,
  resetShop,
  stepLine,
  transcript,
  waitingCall,
} from "./shop-page.ts";
import { brokenRequest, expect, refusedRequest, test } from "./watched-test.ts";

test.beforeEach(({ request }) => resetShop(request));

for (const { name, path, api } of mounts) {
  test.describe(`once, ${name}`, () => {
    test("[M-21 M-47] 20 clicks on Approve within 100 ms are one decision and one refund", async ({
      page,
      request,
    }) => {
      const open = await askForRefund(page, path);
      const posts: string[] = [];
      page.on("request", (sent) => {
        if (sent.url().endsWith("/decisions")) posts.push(sent.url());
      });
      const tookMs = await approveButton(open).evaluate((button: HTMLElement) => {
        const startedAt = performance.now();
        for (let count = 0; count < 20; count++) button.click();
        return performance.now() - startedAt;
      });
      expect(tookMs).toBeLessThan(100);
      await finished(page);
      await expect(orderRow(page, "1042")).toContainText(/refunded/i);
      expect(posts).toHaveLength(1);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("a held Enter key on Approve decides once", async ({ page, request }) => {
      const open = await askForRefund(page, path);
      await approveButton(open).focus();
      for (let count = 0; count < 10; count++) await page.keyboard.down("Enter"); // repeats after the first
      await page.keyboard.up("Enter");
      await finished(page);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("[M-21] two tabs that approve at once run it once, and both show the same end", async ({
      page,
      context,
      request,
      complaints,
    }) => {
      complaints.expect(refusedRequest); // the one that comes second
      await askForRefund(page, path);
      const other = await context.newPage();
      await open(other, page.url());
      const cards = [await readyCard(page), await readyCard(other)];
      await Promise.all(
        cards.map((waiting) => approveButton(waiting).evaluate((button: HTMLElement) => button.click())),
      );
      for (const tab of [page, other]) {
        await expect(transcript(tab).getByText("Done. I refunded 49.90 EUR on order 1042.")).toBeVisible();
        await expect(stepLine(tab, "Refund order")).toContainText("Approved by you");
      }
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
      expect(await refundedCents(request, "1042")).toBe(4990);
    });

    test("a decision in one tab settles the card of the other within two seconds", async ({ page, context }) => {
      const here = await askForRefund(page, path);
      const other = await context.newPage();
      await open(other, page.url());
      await readyCard(other);
      await here.getByRole("button", { name: "Deny…" }).click();
      await here.getByRole("textbox").press("Enter");
      await expect(stepLine(other, "Refund order")).toContainText("Denied by you", { timeout: 2_000 });
      await expect(card(other)).toHaveCount(0);
    });

    test("five parallel posts of one decision run it once; four are told that it is decided", async ({
      page,
      request,
      complaints,
    }) => {
      complaints.expect(refusedRequest);
      await askForRefund(page, path);
      const { callId, digest } = waitingCall(await readThread(page, api));
      const answers = await postDecisions(page, api, { callId, digest, action: "approve" }, ["a", "b", "c", "d", "e"]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
      expect(answers.flatMap(({ body }) => body.error?.code ?? [])).toEqual(Array(4).fill("decided"));
      await page.reload(); // nobody told this page of what a script did
      await finished(page);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("the same post five times is one decision, and all five get the same answer", async ({ page, request }) => {
      await askForRefund(page, path);
      const { callId, digest } = waitingCall(await readThread(page, api));
      const answers = await postDecisions(page, api, { callId, digest, action: "approve" }, Array(5).fill("one-key"));
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
      expect(new Set(answers.map(({ body }) => body.seq)).size).toBe(1);
      await page.reload();
      await finished(page);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("a forged amount, field or call is refused, and nothing runs", async ({ page, request, complaints }) => {
      complaints.expect(refusedRequest);
      await askForRefund(page, path);
      const { callId, digest, input } = waitingCall(await readThread(page, api));
      const forge = async (decision: object) => {
        const [answer] = await postDecisions(page, api, { callId, digest, action: "approve", ...decision }, [
          JSON.stringify(decision).slice(0, 40),
        ]);
        return [answer?.status, answer?.body.error?.code];
      };
      expect(await forge({ digest: "made-up", input: { ...input, amount: 4990 } })).toEqual([409, "stale"]);
      expect(await forge({ input: { ...input, orderId: "1041" } })).toEqual([400, "invalid-input"]);
      expect(await forge({ input: { ...input, amount: -1 } })).toEqual([400, "invalid-input"]);
      expect(await forge({ input: { ...input, amount: "all" } })).toEqual([400, "invalid-input"]);
      expect(await forge({ callId: "another-call" })).toEqual([404, "not-found"]);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await readyCard(page);
    });

    test("[M-47] a decision that cannot be sent says so, and the next press works", async ({
      page,
      request,
      complaints,
    }) => {
      complaints.expect(brokenRequest);
      const waiting = await askForRefund(page, path);
      await page.route("**/decisions", (route) => route.abort());
      await approveButton(waiting).click();
      await expect(waiting).toContainText("Sending…");
      await expect(waiting.getByRole("alert")).toContainText("Not sent.");
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await page.unroute("**/decisions");
      await approveButton(waiting).click();
      await finished(page);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });

    test("a decision whose answer is lost is recorded once", async ({ page, request, complaints }) => {
      complaints.expect(brokenRequest);
      const waiting = await askForRefund(page, path);
      let lost = 0;
      await page.route("**/decisions", async (route) => {
        if (lost++ > 0) return route.continue();
        await route.fetch();
        await route.abort("connectionreset");
      });
      await approveButton(waiting).click();
      await finished(page);
      await expect(stepLine(page, "Refund order")).toContainText("Approved by you");
      expect(await executions(request, "refundOrder", "1042")).toBe(1);
    });
  });
}
