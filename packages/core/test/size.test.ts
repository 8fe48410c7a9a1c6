import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

const ZOD = [/^zod($|\/)/];

// Why not the 20 kB once planned: docs/decisions/0003-sizes.md
test("a smallest server is at most 57 kB, minified and gzipped, without zod", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/test/size-entry.ts", ZOD);
  expect(modules).toContainEqual(expect.stringMatching(/^packages\/core\/src\/server\//));
  expect(gzipBytes).toBeLessThanOrEqual(57_000);
});

test("the whole server entry is at most 65 kB", async () => {
  const { gzipBytes } = await bundle("packages/core/src/server.ts", ZOD);
  expect(gzipBytes).toBeLessThanOrEqual(65_000);
});
