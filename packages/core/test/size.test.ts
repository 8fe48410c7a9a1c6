import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

// Why not the 20 kB once planned: docs/decisions/0003-sizes.md
test("the server entry is at most 39 kB, minified and gzipped, without zod", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/server.ts", [/^zod($|\/)/]);
  expect(modules).toContainEqual(expect.stringMatching(/^packages\/core\/src\/server\//));
  expect(gzipBytes).toBeLessThanOrEqual(39_000);
});
