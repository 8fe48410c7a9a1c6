import { describe, it } from "vitest";
import { handlerConformance } from "../../src/testing/handler-conformance.ts";
import { handlerUnderTest } from "../../src/testing/handler-under-test.ts";

handlerConformance(
  "in the sandbox of Next's edge runtime",
  async () => ({ url: "https://shop.test/api/toolrun", fetch: handlerUnderTest().GET, close: () => undefined }),
  { describe, it },
);
