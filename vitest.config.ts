import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    dangerouslyIgnoreUnhandledErrors: false,
    maxWorkers: "100%", // much of it waits: for stores, for servers that were killed, for leases
    projects: [
      {
        test: {
          name: "core",
          environment: "node",
          include: ["packages/core/test/**/*.test.ts", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: ["packages/core/test/edge/**"],
        },
      },
      {
        // vmThreads is what makes this environment strict: with the default pool, Node's own globals leak in.
        test: {
          name: "core-edge",
          environment: "edge-runtime",
          pool: "vmThreads",
          include: ["packages/core/test/edge/**/*.test.ts"],
        },
      },
      {
        test: {
          name: "react",
          environment: "jsdom",
          globals: true,
          include: ["packages/react/test/**/*.test.{ts,tsx}"],
        },
      },
      { test: { name: "demo", environment: "node", include: ["apps/demo/test/**/*.test.ts"] } },
    ],
  },
});
