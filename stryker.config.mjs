// `npm run mutate`: does a test notice when the pure half says something else? Not a part of `npm test`.
// One file: `npm run mutate -- --mutate packages/core/src/loop/limits.ts`. The page is test-results/mutation/index.html.
// Mutants that no test can kill, and why: docs/mutation.md.

const pure = [
  "loop/next-action.ts",
  "loop/startable.ts",
  "loop/limits.ts",
  "protocol/reduce-thread.ts",
  "protocol/reduce-turn.ts",
  "protocol/reduce-call.ts",
  "protocol/reduce-grant.ts",
  "protocol/add-usage.ts",
  "protocol/read-thread.ts",
  "protocol/project.ts",
  "agent/judge-call.ts",
  "agent/make-rules.ts",
];

// biome-ignore lint/style/noDefaultExport: it is how Stryker reads it
export default {
  mutate: pure.map((file) => `packages/core/src/${file}`),
  plugins: ["@stryker-mutator/vitest-runner"],
  testRunner: "vitest",
  vitest: { configFile: "scripts/mutate.vitest.mjs", related: false },
  coverageAnalysis: "perTest",
  concurrency: 2,
  // A mutant that loops for ever counts as noticed, and is noticed by how often it is hit. Time alone decides only where
  // it is never hit; on a busy machine little of it would count too many.
  timeoutMS: 30_000,
  thresholds: { high: 95, low: 85, break: 85 },
  // Only what the tests read is copied into the sandbox; what stays out of it cannot slow it down.
  ignorePatterns: [
    "/**",
    "!/packages/core/{src,test}/**",
    "!/packages/core/package.json",
    "!/scripts/mutate.vitest.mjs",
  ],
  tempDirName: "test-results/mutate",
  reporters: ["clear-text", "progress", "html", "json"],
  clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
  htmlReporter: { fileName: "test-results/mutation/index.html" },
  jsonReporter: { fileName: "test-results/mutation/mutation.json" },
  // It would read it with TypeScript's old API, which TypeScript 7 no longer has; nothing is type-checked here.
  tsconfigFile: "none",
  allowConsoleColors: false,
};
