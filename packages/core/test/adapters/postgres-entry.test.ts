import { expect, test } from "vitest";
import { bundle } from "../bundle.ts";

test("the Postgres entry has no driver in it, nothing of Node, and at most 9 kB minified and gzipped", async () => {
  const { modules, gzipBytes } = await bundle("packages/core/src/postgres.ts");
  expect(modules).toContain("packages/core/src/adapters/postgres-store.ts");
  expect(modules.filter((path) => !path.startsWith("packages/core/src/"))).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(9000);
});
