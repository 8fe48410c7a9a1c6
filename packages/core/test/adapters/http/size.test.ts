import { expect, test } from "vitest";
import { bundle } from "../../bundle.ts";

test("the HTTP entry is at most 10 kB, and imports nothing of Node", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/http.ts", [/^zod($|\/)/]);
  expect(modules.filter((path) => path.startsWith("node:"))).toEqual([]);
  expect(modules).toContainEqual(expect.stringMatching(/http-transport\.ts$/));
  expect(gzipBytes).toBeLessThanOrEqual(10_000);
});
