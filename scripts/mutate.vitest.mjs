// The tests that Stryker runs for every mutant: those of the pure half, none of which waits for anything.
import { defineConfig } from "vitest/config";

const tests = [
  "agent/define-agent.test.ts",
  "agent/judge-call.test.ts",
  "logs/golden-logs.test.ts",
  "loop/limits.test.ts",
  "loop/next-action.test.ts",
  "protocol/reduce-thread.test.ts",
];

export default defineConfig({
  test: { environment: "node", include: tests.map((file) => `packages/core/test/${file}`) },
});
