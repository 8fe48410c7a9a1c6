import { ToolRunError } from "../errors.ts";
import type { AgentTool } from "./agent.ts";
import type { Gate } from "./gate.ts";
import type { Limits, Rules, RunLimits, ToolRules } from "./rules.ts";
import type { StopWhen } from "./stop-when.ts";

const MAX_TURNS = 250;

/** What bounds and steers an agent's runs. */
export interface AgentSettings {
  readonly limits?: Limits | undefined;
  /** Ends the run after an answer, before its calls run. Of several, the first that says stop. */
  readonly stopWhen?: StopWhen | readonly StopWhen[] | undefined;
  /** Looks at a final answer and may ask for a better one. */
  readonly gate?: Gate | undefined;
  /** @defaultValue "answer" */
  readonly onLimit?: "answer" | "stop" | undefined;
  /** @defaultValue "continue" */
  readonly onDenied?: "continue" | "stop" | undefined;
  /** @defaultValue false */
  readonly holdTurn?: boolean | undefined;
  /** @defaultValue 8 */
  readonly concurrency?: number | undefined;
  /** Tries of one model call, with each model of a list. @defaultValue 3 */
  readonly modelAttempts?: number | undefined;
  /** Silence allowed before and between parts of an answer. @defaultValue 60,000 */
  readonly modelSilenceMs?: number | undefined;
}

/**
 * An agent's settings as plain rules.
 * @throws `invalid-config` naming the setting, its value and the fix.
 */
export function makeRules(options: AgentSettings, tools: ReadonlyMap<string, AgentTool>, models = 1): Rules {
  const { gate } = options;
  return {
    limits: limitsOf(options.limits ?? {}),
    onLimit: options.onLimit ?? "answer",
    onDenied: options.onDenied ?? "continue",
    holdTurn: options.holdTurn ?? false,
    concurrency: whole("concurrency", options.concurrency ?? 8),
    modelAttempts: whole("modelAttempts", options.modelAttempts ?? 3),
    models,
    modelTimeoutMs: positive("modelSilenceMs", options.modelSilenceMs ?? 60_000),
    judgesTurns: options.stopWhen !== undefined || gate !== undefined,
    gateAttempts: gate ? whole("gate.maxAttempts", gate.maxAttempts) : 0,
    tools: Object.fromEntries([...tools.values()].map((tool) => [tool.name, toolRulesOf(tool)])),
  };
}

/** What the loop may do to a tool's calls. */
export function toolRulesOf({ tool }: AgentTool): ToolRules {
  const { kind, timeoutMs, idempotent, maxRetries, sequential, agent } = tool;
  return { kind, timeoutMs, idempotent, maxRetries, sequential, agent: agent?.rules };
}

function limitsOf(limits: Limits): RunLimits {
  const { repeats = 3, failures = 3 } = limits;
  const repeated = typeof repeats === "number" ? { count: repeats } : repeats;
  const failed = typeof failures === "number" ? { count: failures } : failures;
  return {
    turns: Math.min(whole("limits.turns", limits.turns ?? 10), MAX_TURNS),
    calls: whole("limits.calls", limits.calls ?? 100),
    tokens: limits.tokens === undefined ? null : whole("limits.tokens", limits.tokens),
    timeMs: positive("limits.timeMs", limits.timeMs ?? 300_000),
    repeats:
      repeated === false
        ? null
        : { count: repeatCount(repeated.count), follows: ("follows" in repeated && repeated.follows) || "note" },
    failures:
      failed === false
        ? null
        : { count: whole("limits.failures", failed.count), except: ("except" in failed && failed.except) || [] },
    depth: whole("limits.depth", limits.depth ?? 3),
  };
}

/** One call is no repetition. */
function repeatCount(count: number): number {
  if (Number.isInteger(count) && count >= 2) return count;
  throw new ToolRunError(
    "invalid-config",
    `limits.repeats must be false or a whole number of at least 2; it is ${count}.`,
  );
}

function whole(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new ToolRunError("invalid-config", `${name} must be a whole number of at least 1; it is ${value}.`);
}

/** @throws `invalid-config` for a number that is not greater than 0. */
export function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new ToolRunError("invalid-config", `${name} must be greater than 0; it is ${value}.`);
}
