import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { ports } from "./ports.ts";
import { expect, test } from "./watched-test.ts";

/** Installed, compiled and built by `npm test`: see scripts/bare-app.mjs. */
const folder = process.env.BARE_APP;
test.use({ baseURL: `http://localhost:${ports.bare}` });

const model = new LLMock({ port: ports.bareModel, host: "127.0.0.1", logLevel: "silent" });
const refund = { id: "call_1", name: "refundOrder", arguments: '{"orderId":"1042","amount":49.9}' };
let server: ChildProcess;

test.beforeAll(async () => {
  model.on({ predicate: ({ messages }) => messages.at(-1)?.role === "tool" }, ({ messages }) => ({
    content: `I was told: ${JSON.stringify(messages.at(-1)?.content)}`,
  }));
  model.on({ userMessage: /refund/i }, { content: "I would refund it.", toolCalls: [refund] });
  await model.start();
  // As a newcomer runs it: in development, where no user and no store has to be named.
  server = spawn(
    process.execPath,
    [join(folder ?? "", "node_modules/next/dist/bin/next"), "dev", "-p", `${ports.bare}`],
    {
      cwd: folder,
      stdio: "ignore",
      env: {
        ...process.env,
        NODE_ENV: "development",
        OPENAI_API_KEY: "test",
        OPENAI_BASE_URL: `http://127.0.0.1:${ports.bareModel}/v1`,
      },
    },
  );
});

test.afterAll(async () => {
  server.kill();
  await once(server, "exit");
  await model.stop();
});

test("the README's files in a bare Next app: ask, approve, done", async ({ page, request, complaints }) => {
  complaints.expect(/favicon\.ico/); // a bare app has none
  test.setTimeout(90_000); // the first request of a development server compiles
  await expect
    .poll(
      () =>
        request
          .get("/")
          .then((r) => r.status())
          .catch(() => 0),
      { timeout: 60_000 },
    )
    .toBe(200);
  await page.goto("/");
  await page.getByRole("button", { name: "Refund order 1042" }).click();
  const card = page.locator('[data-kind="approval"]');
  await expect(card).toContainText("49.9", { timeout: 30_000 });
  await card.getByRole("button", { name: "Approve once" }).click();
  await expect(page.getByText(/I was told: .*refunded/)).toBeVisible({ timeout: 20_000 });
  await expect(card).toHaveCount(0);
});
