// @vitest-environment node
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../../../core/test/bundle.ts";

test("the components are at most 25 kB, minified and gzipped, without React, SWR and toolrun", async () => {
  const external = [/^react($|\/)/, /^react-dom($|\/)/, /^swr($|\/)/, /^toolrun$/];
  const { modules, gzipBytes } = await bundle("packages/react/src/ui.ts", external);
  expect(modules).toContain("packages/react/src/step/approval-card.tsx");
  expect(gzipBytes).toBeLessThanOrEqual(25_000);
});

test("the style sheet is at most 6 kB, gzipped and not even minified", () => {
  const css = readFileSync(fileURLToPath(new URL("../../src/ui.css", import.meta.url)));
  expect(gzipSync(css, { level: 9 }).byteLength).toBeLessThanOrEqual(6_000);
});
