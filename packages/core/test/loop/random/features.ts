import type { LogFacts } from "./log-facts.ts";
import type { Seen } from "./seen.ts";

/** What happened in a run, in words that can be counted. */
export function featuresOf({ events, answers, crashes, executions }: Seen, log: LogFacts): ReadonlySet<string> {
  const seen = new Set<string>(events.map(({ type }) => type));
  for (const event of events) for (const feature of eventFeatures(event)) seen.add(feature);
  for (const { act, outcome } of answers) seen.add(`${act}: ${outcome.split("\n", 1)[0]}`);
  for (const run of log.runs.values()) if (run.children.length > 1) seen.add("several sub-agents of one run");
  if (crashes.length > 0) seen.add("a server dies");
  if (executions.some(({ answers: given }) => given.length > 0)) seen.add("a tool goes on with an answer");
  return seen;
}

function eventFeatures(event: Seen["events"][number]): readonly string[] {
  switch (event.type) {
    case "run-started":
      return [`depth ${event.depth}`];
    case "run-resumed":
      return [`resumed: ${event.why}`];
    case "run-ended": {
      const by = event.limit ?? event.code;
      return [by === undefined ? event.outcome : `${event.outcome} by ${by}`];
    }
    case "limit-reached":
      return [`limit ${event.limit}: ${event.follows}`];
    case "turn-started":
      return [...(event.attempt > 1 ? ["a model is asked again"] : []), ...(event.toolsOff ? ["a last answer"] : [])];
    case "turn-judged":
      return [`turn ${event.verdict}`];
    case "call-judged":
      return [`verdict ${event.verdict} by ${event.by}`];
    case "decision-requested":
      return [`asks for ${event.kind}`];
    case "decision-recorded":
      return [`decision ${event.action}`, ...(event.input === undefined ? [] : ["an edit"])];
    case "call-started":
      return event.attempt > 1 ? ["a tool is tried again"] : [];
    case "call-settled":
      return [
        `call ${event.outcome} ${event.reason ?? event.error?.code ?? ""}`.trim(),
        ...(event.late ? ["a late result"] : []),
      ];
    default:
      return [];
  }
}

/** What some of 500 random runs surely come to, else the plans are not what they should be. */
export const COMMON: readonly string[] = [
  ...["text-added", "part-added", "call-proposed", "call-input-added", "call-progressed", "turn-judged"],
  ...["thread-renamed", "stop-requested", "run-waiting", "attempt-failed", "a last answer", "a server dies"],
  ...["a model is asked again", "a tool is tried again", "several sub-agents of one run", "depth 1"],
  ...["completed", "stopped", "failed by model-failed", "failed by hook-failed", "completed by stop-when"],
  ...["limited by turns", "limited by calls", "limited by tokens", "limited by time", "limited by failures"],
  ...["asks for approval", "asks for question", "asks for browser", "resumed: decision", "resumed: hand-over"],
  ...[
    "decision approve",
    "decision deny",
    "decision answer",
    "decision expire",
    "turn pass",
    "turn again",
    "turn stop",
  ],
  ...["verdict allow by tool", "verdict ask by default", "verdict modify by tool", "verdict deny by tool"],
  ...["call succeeded", "call failed tool-error", "call failed timed-out", "call failed invalid-input"],
  ...["call failed unknown-tool", "call not-run denied", "call not-run expired", "call not-run blocked"],
];

/** What some of 10,000 come to. */
export const RARE: readonly string[] = [
  ...["call-interrupted", "run-handed-over", "grant-revoked", "depth 2", "depth 3", "limit depth: note"],
  ...["limited by repeats", "limited by completion", "failed by model-timed-out", "limit repeats: warn"],
  ...[
    "asks for link",
    "a tool goes on with an answer",
    "a late result",
    "decision retry",
    "decision skip",
    "resumed: takeover",
  ],
  ...["verdict allow by grant", "verdict modify by policy", "call failed unresolved", "call failed stopped"],
];
