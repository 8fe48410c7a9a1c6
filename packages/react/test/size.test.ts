// @vitest-environment node
import { expect, test } from "vitest";
import { bundle } from "../../core/test/bundle.ts";

// Why not the 6 kB once planned: docs/decisions/0003-sizes.md
test("the hooks with their client are at most 16.1 kB, minified and gzipped, without React and SWR", async () => {
  const { modules, gzipBytes, laterGzipBytes } = await bundle("packages/react/src/index.ts", [
    /^react($|\/)/,
    /^react-dom($|\/)/,
    /^swr($|\/)/,
  ]);
  expect(modules).toContainEqual(expect.stringMatching(/^packages\/core\/src\/client\//));
  expect(gzipBytes).toBeLessThanOrEqual(16_100);
  // Sharing one stream between tabs, where there are several.
  expect(laterGzipBytes).toBeGreaterThan(500);
  expect(laterGzipBytes).toBeLessThanOrEqual(1_700);
});
