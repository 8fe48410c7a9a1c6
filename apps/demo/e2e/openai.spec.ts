import type { ChatCompletionRequest, LLMock } from "@copilotkit/aimock";
import { resultsOfRun, shopModelServer, textOf } from "./model-server.ts";
import { ports } from "./ports.ts";
import {
  approveButton,
  askForRefund,
  executions,
  finished,
  lastAnswer,
  mounts,
  open,
  readyCard,
  refundedCents,
  resetShop,
  say,
  stepLine,
  transcript,
} from "./shop-page.ts";
import { expect, test } from "./watched-test.ts";

test.use({ baseURL: `http://127.0.0.1:${ports.openai}` });

let model: LLMock;
test.beforeAll(async () => {
  model = shopModelServer();
  await model.start();
});
test.afterAll(() => model.stop());
test.beforeEach(async ({ request }) => {
  model.clearRequests();
  model.resetMatchCounts();
  await resetShop(request);
});

/** The bodies the model server got, in the order they came. */
function requests(): readonly ChatCompletionRequest[] {
  return model.getRequests().map(({ body }) => body as ChatCompletionRequest); // nobody posts anything else to it
}

function lastRequest(): ChatCompletionRequest {
  const request = requests().at(-1);
  if (!request) throw new Error("The model was not asked.");
  return request;
}

const [edge] = mounts;

for (const { name, path } of mounts) {
  test.describe(`a real provider over HTTP, ${name}`, () => {
    test("look up, approve: the model is told the results in their order", async ({ page, request }) => {
      const waiting = await askForRefund(page, path);
      await expect(page.getByText("OpenAI gpt-5.4. Tools, approvals and database are real.")).toBeVisible();
      await expect(waiting).toContainText('asked for "twice"'); // the arguments came in pieces
      await approveButton(waiting).click();
      await finished(page);
      expect(await refundedCents(request, "1042")).toBe(4990);
      expect(await executions(request, "refundOrder", "1042")).toBe(1);

      expect(requests()).toHaveLength(3);
      const results = resultsOfRun(lastRequest());
      expect(results.map(({ id }) => id)).toEqual(["call_find", "call_refund"]);
      expect(JSON.parse(results[0]?.text ?? "")).toMatchObject({ orderId: "1042", customer: "Mia Chen", total: 49.9 });
      expect(JSON.parse(results[1]?.text ?? "")).toEqual({
        orderId: "1042",
        refunded: 49.9,
        status: "partly-refunded",
      });
      expect(lastRequest().tools?.map((tool) => tool.function.name)).toEqual([
        "archiveOrder",
        "findOrder",
        "importOrders",
        "listOrders",
        "refundOrder",
      ]);
      expect(await lastAnswer(page)).toContain("I was told: ");
    });

    test("deny with a reason: the model's next request says that it was NOT run, and why", async ({
      page,
      request,
    }) => {
      const waiting = await askForRefund(page, path);
      await waiting.getByRole("button", { name: "Deny…" }).click();
      await waiting.getByRole("textbox").fill("wrong customer");
      await waiting.getByRole("textbox").press("Enter");
      await finished(page);
      const told = resultsOfRun(lastRequest()).at(-1);
      expect(told?.id).toBe("call_refund");
      expect(told?.text).toMatch(/^The tool was NOT run: denied by the person: wrong customer/);
      expect(await executions(request, "refundOrder", "1042")).toBe(0);
      await expect(transcript(page)).toContainText("I was told: The tool was NOT run");

      // The next message finds the whole conversation, and every call in it has its result.
      await say(page, "Hello");
      await expect(transcript(page)).toContainText("Hello from the model server.");
      const { messages } = lastRequest();
      const called = messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
      const answered = messages.flatMap((message) => message.tool_call_id ?? []);
      expect(called).toEqual(["call_find", "call_refund"]);
      expect(answered).toEqual(called);
    });

    test("edit: the model keeps its own arguments and is told what ran instead", async ({ page, request }) => {
      const waiting = await askForRefund(page, path);
      await waiting.getByRole("button", { name: "Edit…" }).click();
      await waiting.getByRole("textbox", { name: /Amount/ }).fill("20");
      await waiting.getByRole("button", { name: "Approve with changes" }).click();
      await finished(page);
      expect(await refundedCents(request, "1042")).toBe(2000);
      const { messages } = lastRequest();
      const asked = messages.flatMap((message) => message.tool_calls ?? []).at(-1);
      expect(JSON.parse(asked?.function.arguments ?? "")).toMatchObject({ amount: 49.9 });
      const told = JSON.parse(resultsOfRun(lastRequest()).at(-1)?.text ?? "");
      expect(told.note).toContain("The person changed the input.");
      expect(told.input).toMatchObject({ amount: 20 });
      expect(told.output).toMatchObject({ refunded: 20 });
    });
  });
}

test.describe("a model that fails", () => {
  test("two calls of one answer: one runs at once, one waits, and the results stay in the calls' order", async ({
    page,
  }) => {
    const waiting = await askForRefund(page, edge.path, "Refund order 1042, and look at both");
    await expect(stepLine(page, "Look up order")).toContainText("Done");
    expect(requests()).toHaveLength(2); // not asked again before every call is settled
    await approveButton(waiting).click();
    await finished(page);
    expect(resultsOfRun(lastRequest()).map(({ id }) => id)).toEqual(["call_find", "call_refund", "call_look"]);
  });

  test("429, then an answer: it is asked again and the person sees only the answer", async ({ page }) => {
    await open(page, edge.path);
    model.nextRequestError(429, { message: "slow down", type: "rate_limit_error" });
    await say(page, "Hello");
    await finished(page);
    expect(await lastAnswer(page)).toBe("Hello from the model server.");
    expect(model.getRequests()).toHaveLength(2);
    await expect(page.locator(".tr-banner")).toHaveCount(0);
  });

  test("500 three times: a readable end, nothing of the provider's words, and the page goes on", async ({ page }) => {
    await open(page, edge.path);
    for (let count = 0; count < 3; count++) {
      model.nextRequestError(500, { message: "secret detail of the provider", type: "server_error" });
    }
    await say(page, "Hello");
    const banner = page.locator('.tr-banner[data-outcome="failed"]');
    await expect(banner).toContainText("The model did not answer.");
    expect(model.getRequests()).toHaveLength(3);
    await expect(page.locator("body")).not.toContainText("secret detail");
    await banner.getByRole("button", { name: "Continue" }).click();
    await expect(transcript(page)).toContainText("Hello from the model server.");
    await expect(banner).toHaveCount(0);
    await say(page, "Refund order 1042");
    await readyCard(page);
  });

  test("an answer that breaks off once is asked for again; what is shown in the end is the whole one", async ({
    page,
  }) => {
    await open(page, edge.path);
    await say(page, "Please break off once");
    await finished(page);
    expect(model.getRequests()).toHaveLength(2);
    expect(await lastAnswer(page)).toBe("This answer breaks off before its end, and comes again whole.");
  });

  test("an answer that always breaks off: what came is kept, the end is named, the page goes on", async ({ page }) => {
    await open(page, edge.path);
    await say(page, "Please break off always");
    await expect(page.locator('.tr-banner[data-outcome="failed"]')).toBeVisible();
    await expect(transcript(page)).toContainText("This answer breaks");
    expect(model.getRequests()).toHaveLength(3);
    await say(page, "Hello");
    await expect(transcript(page)).toContainText("Hello from the model server.");
    expect(lastRequest().messages.map(textOf).join("\n")).toContain("something went wrong");
  });
});
