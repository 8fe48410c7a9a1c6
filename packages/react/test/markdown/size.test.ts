// @vitest-environment node
import { expect, test } from "vitest";
import { bundle } from "../../../core/test/bundle.ts";

const shared = [/^react($|\/)/, /^react-dom($|\/)/, /^swr($|\/)/, /^toolrun$/];

test("Markdown is at most 62 kB, minified and gzipped, its three peers included", async () => {
  const { modules, gzipBytes } = await bundle("packages/react/src/markdown.ts", shared);
  expect(modules.some((path) => path.includes("react-markdown"))).toBe(true);
  expect(gzipBytes).toBeLessThanOrEqual(62_000);
});

test.each([
  ["timeline", 9_000],
  ["strings/de", 5_500],
  ["strings/ar", 6_500],
])("%s is at most %d bytes", async (entry, most) => {
  const { modules, gzipBytes } = await bundle(`packages/react/src/${entry}.ts`, shared);
  expect(modules.filter((path) => /chat\/|markdown/.test(path))).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(most);
});

test("the chat does not bring Markdown with it", async () => {
  const { modules } = await bundle("packages/react/src/ui.ts", shared);
  expect(modules.filter((path) => /markdown|remark|remend|timeline\/|strings\//.test(path))).toEqual([]);
});
