import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

test("the server entry is at most 20 kB, minified and gzipped, without zod", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/server.ts", [/^zod($|\/)/]);
  expect(modules).toContainEqual(expect.stringMatching(/^packages\/core\/src\/server\//));
  expect(gzipBytes).toBeLessThanOrEqual(20_000);
});
