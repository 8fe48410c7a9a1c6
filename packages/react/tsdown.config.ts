import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/index.ts", "src/ui.ts", "src/markdown.ts", "src/timeline.ts", "src/strings/{ar,de,pseudo}.ts"],
  format: "esm",
  platform: "neutral",
  target: "es2022",
  dts: true,
  sourcemap: true,
  fixedExtension: false,
  // One module per file keeps every "use client" where it was written.
  unbundle: true,
  copy: ["src/ui.css"],
});
