import { copyJson } from "../protocol/copy-json.ts";
import { canonicalJson } from "../protocol/digest.ts";
import type { Thread } from "../protocol/thread.ts";
import type { Json, VerdictBy, VerdictName } from "../protocol/values.ts";
import type { Agent, AgentTool } from "./agent.ts";
import type { PolicyContext } from "./policy.ts";
import type { ToolKind } from "./rules.ts";
import type { AskOptions, Verdict } from "./verdict.ts";

/** The outcome of all opinions over one call. */
export interface Judgement {
  readonly verdict: VerdictName;
  readonly by: VerdictBy;
  readonly reason?: string | undefined;
  readonly grantId?: string | undefined;
  /** The input to run instead, when a policy changed it. Not validated yet. */
  readonly modified?: Json | undefined;
  /** Present when a person is to be asked. */
  readonly ask?: AskOptions | undefined;
  /** Why the rule that denies failed, for the server's log. */
  readonly failure?: unknown;
}

interface Opinion {
  readonly verdict: Verdict;
  readonly by: VerdictBy;
  readonly failure?: unknown;
}

/** Asks the agent's policies and the tool's own rule; synchronous where all are. */
export function judgeCall(
  agent: Agent,
  { tool, name, hash }: AgentTool,
  call: { readonly callId: string; readonly input: Json },
  context: PolicyContext,
  grants: Thread["grants"],
): Judgement | Promise<Judgement> {
  const { readOnly, destructive, kind } = tool;
  const about = { tool: name, callId: call.callId, readOnly, destructive };
  // Each sees an input of its own: what one of them changes, the next must not take for the call.
  const policies = agent.policies.map(
    (policy) => opinion("policy", () => policy({ ...about, input: copyJson(call.input) as never }, context)), // validated by the tool's schema
  );
  const own = opinion("tool", () =>
    typeof tool.approval === "function" ? tool.approval(copyJson(call.input), context) : tool.approval,
  );
  const decide = (opinions: readonly Opinion[]): Judgement =>
    combine(opinions, { name, hash, kind, readOnly, destructive, input: call.input }, grants);
  const opinions = [...policies, own];
  if (opinions.some((each) => each instanceof Promise)) return Promise.all(opinions).then(decide);
  return decide(opinions as readonly Opinion[]); // none is a promise
}

const FAILED: Verdict = { deny: "The rule for this tool failed, so it was not run." };

function opinion(by: VerdictBy, ask: () => Verdict | Promise<Verdict>): Opinion | Promise<Opinion> {
  const failed = (failure: unknown): Opinion => ({ verdict: FAILED, by, failure: failure ?? new Error("no reason") });
  // Whatever is no verdict denies: a rule that was written wrong must not let calls through.
  const given = (verdict: unknown): Opinion =>
    isVerdict(verdict)
      ? { verdict, by }
      : failed(new TypeError("A policy or approval answered with something that is no verdict."));
  try {
    const verdict = ask();
    return isThenable(verdict) ? Promise.resolve(verdict).then(given, failed) : given(verdict);
  } catch (error) {
    return failed(error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function isVerdict(value: unknown): value is Verdict {
  if (value === undefined || value === "allow" || value === "ask") return true;
  if (typeof value !== "object" || value === null) return false;
  if ("deny" in value) return typeof value.deny === "string";
  const asks = "ask" in value && value.ask !== undefined;
  if (asks && (typeof value.ask !== "object" || value.ask === null)) return false;
  return asks || ("modify" in value && value.modify !== undefined);
}

interface Judged {
  readonly name: string;
  readonly hash: string;
  readonly kind: ToolKind;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly input: Json;
}

/**
 * Deny beats ask beats allow; with no opinion anywhere readOnly is allowed and the rest asks. A question is itself
 * the asking, and a sub-agent's own tools ask for themselves.
 */
function combine(opinions: readonly Opinion[], call: Judged, grants: Thread["grants"]): Judgement {
  const denied = opinions.find(({ verdict }) => typeof verdict === "object" && "deny" in verdict);
  if (denied && typeof denied.verdict === "object" && "deny" in denied.verdict) {
    return { verdict: "deny", by: denied.by, reason: denied.verdict.deny, failure: denied.failure };
  }
  const modify = opinions.find(({ verdict }) => typeof verdict === "object" && "modify" in verdict);
  const modified =
    typeof modify?.verdict === "object" && "modify" in modify.verdict ? modify.verdict.modify : undefined;
  const asked = call.kind === "question" ? undefined : opinions.find(({ verdict }) => asks(verdict));
  const allowed = opinions.find(({ verdict }) => verdict === "allow") ?? modify;
  const free = call.readOnly || call.kind === "question" || (call.kind === "agent" && !call.destructive);
  if (asked || (!allowed && !free)) {
    const ask = askOptions(asked?.verdict, call.destructive);
    if (modified !== undefined) return { verdict: "modify", by: modify?.by ?? "policy", modified, ask };
    const grant = call.destructive ? undefined : findGrant(grants, call);
    if (grant) return { verdict: "allow", by: "grant", grantId: grant.grantId };
    return { verdict: "ask", by: asked?.by ?? "default", ask, reason: ask.reason };
  }
  if (modified !== undefined) return { verdict: "modify", by: modify?.by ?? "policy", modified };
  return { verdict: "allow", by: allowed?.by ?? "default" };
}

function asks(verdict: Verdict): boolean {
  if (verdict === "ask") return true;
  return typeof verdict === "object" && "ask" in verdict && verdict.ask !== undefined;
}

function askOptions(verdict: Verdict, destructive: boolean): AskOptions {
  const given = (typeof verdict === "object" && "ask" in verdict ? verdict.ask : undefined) ?? {};
  const scopes = destructive ? (["once"] as const) : (given.scopes ?? (["once", "run"] as const));
  return { ...given, editable: given.editable ?? true, scopes };
}

function findGrant(grants: Thread["grants"], call: Judged): Thread["grants"][number] | undefined {
  const candidates = grants.filter((grant) => grant.tool === call.name && grant.toolHash === call.hash);
  if (candidates.length === 0) return undefined;
  const wanted = canonicalJson(call.input);
  return candidates.find((grant) => canonicalJson(grant.input) === wanted);
}
