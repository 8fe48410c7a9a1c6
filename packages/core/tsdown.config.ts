import { defineConfig } from "tsdown";

export default defineConfig({
  entry: [
    "src/index.ts",
    "src/server.ts",
    "src/postgres.ts",
    "src/redis.ts",
    "src/http.ts",
    "src/mcp.ts",
    "src/testing.ts",
  ],
  format: "esm",
  platform: "neutral",
  target: "es2022",
  dts: true,
  sourcemap: true,
  fixedExtension: false,
});
