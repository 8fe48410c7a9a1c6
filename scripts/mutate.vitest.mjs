// The tests that Stryker runs for every mutant: those of the pure half, none of which waits for anything.
import { defineConfig } from "vitest/config";

const tests = [
  "agent/define-agent.test.ts",
  "agent/judge-call.test.ts",
  "agent/make-rules.test.ts",
  "logs/golden-logs.test.ts",
  "loop/limits.test.ts",
  "loop/next-action.test.ts",
  "protocol/project.test.ts",
  "protocol/read-thread.test.ts",
  "protocol/reduce-call.test.ts",
  "protocol/reduce-run.test.ts",
  "protocol/reduce-thread.test.ts",
  "protocol/reduce-turn.test.ts",
];

// biome-ignore lint/style/noDefaultExport: it is how Vitest reads it
export default defineConfig({
  test: { environment: "node", include: tests.map((file) => `packages/core/test/${file}`) },
});
