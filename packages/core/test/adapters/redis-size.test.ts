import { expect, test } from "vitest";
import { bundle } from "../bundle.ts";

test("the redis entry is at most 9 kB, minified and gzipped, and brings no client and nothing of Node", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/redis.ts");
  expect(modules).toContain("packages/core/src/adapters/redis-store.ts");
  expect(
    modules.filter(
      (path) => !/^packages\/core\/src\/(redis|errors|adapters\/(redis-\w+|one-by-one|timer))\.ts$/.test(path),
    ),
  ).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(9_000);
});
