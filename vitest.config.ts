import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const withReact18 = fileURLToPath(new URL("packages/react/test/react-18/node_modules/", import.meta.url));

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
      {
        // The same tests with the oldest React that is promised; what imports React beside our code comes along.
        resolve: {
          alias: [
            {
              find: /^(react|react-dom|react-markdown|swr|@testing-library\/react)(?=\/|$)/,
              replacement: `${withReact18}$1`,
            },
          ],
        },
        test: {
          name: "react-18",
          environment: "jsdom",
          globals: true,
          include: ["packages/react/test/**/*.test.tsx"],
        },
      },
      { test: { name: "demo", environment: "node", include: ["apps/demo/test/**/*.test.ts"] } },
    ],
  },
});
