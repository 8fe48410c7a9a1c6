import { expect, test } from "@playwright/test";
import { handlerConformance } from "toolrun/testing";
import { ports } from "./ports.ts";

const functions = {
  describe: test.describe,
  it: (name: string, body: () => Promise<void>) => test(name, body),
};

for (const runtime of ["edge", "node"]) {
  const url = `http://127.0.0.1:${ports.openai}/api/conformance-${runtime}`;
  handlerConformance(`Next's ${runtime} runtime`, async () => ({ url, close: () => undefined }), functions);

  test(`a server that is not under test has no such endpoint on ${runtime}`, async () => {
    const [port] = ports.scripted;
    const response = await fetch(`http://127.0.0.1:${port}/api/conformance-${runtime}/threads`, {
      headers: { "x-user": "mia" },
    });
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("");
  });
}
