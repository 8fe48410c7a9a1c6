import type { Rules, ToolRules } from "../../src/agent/rules.ts";

/** A tool that runs here, once. */
export const TOOL: ToolRules = {
  kind: "server",
  timeoutMs: 60_000,
  idempotent: false,
  maxRetries: 0,
  sequential: false,
};
/** The defaults of an agent, with a tool for each thing that makes a difference. */
export const RULES: Rules = {
  limits: {
    turns: 10,
    calls: 100,
    tokens: null,
    timeMs: 300_000,
    repeats: { count: 3, follows: "note" },
    failures: { count: 3, except: [] },
    depth: 3,
  },
  onLimit: "answer",
  onDenied: "continue",
  holdTurn: false,
  concurrency: 8,
  modelAttempts: 3,
  models: 1,
  modelTimeoutMs: 60_000,
  judgesTurns: false,
  gateAttempts: 0,
  tools: {
    plain: TOOL,
    safe: { ...TOOL, idempotent: true, maxRetries: 2 },
    alone: { ...TOOL, sequential: true },
    quick: { ...TOOL, timeoutMs: 1_000 },
  },
};
