import { copyJson } from "../protocol/copy-json.ts";
import { canonicalJson } from "../protocol/digest.ts";
import type { Covered } from "../protocol/grant.ts";
import { findGrant } from "../protocol/grant.ts";
import type { Thread } from "../protocol/thread.ts";
import type { EarlierDenial, GrantTerms, Json, VerdictBy, VerdictName } from "../protocol/values.ts";
import { isJson } from "../protocol/values-schema.ts";
import type { Agent, AgentTool, Tool } from "./agent.ts";
import type { PolicyContext } from "./policy.ts";
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
  /** That the tool was denied before, for the one who is asked. */
  readonly denied?: EarlierDenial | undefined;
  /** Why the rule that denies failed, for the server's log. */
  readonly failure?: unknown;
}

/** What one rule said. */
export interface Opinion {
  readonly verdict: Verdict;
  readonly by: "policy" | "tool";
  readonly failure?: unknown;
}

/** What people decided before that may hold for the call. */
export interface Remembered {
  /** Those that count now. */
  readonly grants: Thread["grants"];
  /** The latest denial of the tool in this run. */
  readonly denied?: (EarlierDenial & { readonly seq: number }) | undefined;
}

export const NOTHING_REMEMBERED: Remembered = { grants: [] };

/** Asks the agent's policies and the tool's own rule; synchronous where all are. */
export function judgeCall(
  agent: Agent,
  tool: AgentTool,
  call: { readonly callId: string; readonly input: Json },
  context: PolicyContext,
  remembered: Remembered = NOTHING_REMEMBERED,
): Judgement | Promise<Judgement> {
  const opinions = opinionsOf(agent, tool, call, context);
  return opinions instanceof Promise
    ? opinions.then((given) => combine(given, tool, call.input, remembered))
    : combine(opinions, tool, call.input, remembered);
}

/** What each rule says of a call: the agent's policies in their order, then the tool's own. */
export function opinionsOf(
  agent: Agent,
  { tool, name }: AgentTool,
  call: { readonly callId: string; readonly input: Json },
  context: PolicyContext,
): readonly Opinion[] | Promise<readonly Opinion[]> {
  const { readOnly, destructive, annotations } = tool;
  const about = { tool: name, callId: call.callId, readOnly, destructive, annotations };
  // Each sees an input of its own: what one of them changes, the next must not take for the call.
  const policies = agent.policies.map(
    (policy) => opinion("policy", () => policy({ ...about, input: copyJson(call.input) as never }, context)), // validated by the tool's schema
  );
  const own = opinion("tool", () =>
    typeof tool.approval === "function" ? tool.approval(copyJson(call.input), context) : tool.approval,
  );
  const opinions = [...policies, own];
  if (opinions.some((each) => each instanceof Promise)) return Promise.all(opinions);
  return opinions as readonly Opinion[]; // none is a promise
}

const FAILED: Verdict = { deny: "The rule for this tool failed, so it was not run." };

function opinion(by: Opinion["by"], ask: () => Verdict | Promise<Verdict>): Opinion | Promise<Opinion> {
  const failed = (failure: unknown): Opinion => ({ verdict: FAILED, by, failure: failure ?? new Error("no reason") });
  // Whatever is no verdict denies: a rule that was written wrong must not let calls through.
  const given = (verdict: unknown): Opinion => {
    try {
      if (isVerdict(verdict)) return { verdict, by };
    } catch {
      // It cannot be read.
    }
    return failed(new TypeError("A policy or approval answered with something that is no verdict."));
  };
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
  if (asks && (typeof value.ask !== "object" || value.ask === null || !isGrant(value.ask))) return false;
  return asks || ("modify" in value && value.modify !== undefined);
}

function isGrant(ask: AskOptions): boolean {
  const { grant = {} } = ask;
  const { uses = 0, forMs = 0, label = "" } = grant ?? {};
  return (
    grant !== null &&
    isJson(grant.key ?? 0) &&
    (Number.isInteger(uses) || uses === Infinity) &&
    uses >= 0 &&
    forMs >= 0 &&
    typeof label === "string"
  );
}

/**
 * Deny beats ask beats allow; with no opinion anywhere readOnly is allowed and the rest asks. A question is itself
 * the asking, and a sub-agent's own tools ask for themselves. What a person denied in this run asks from then on,
 * whoever allows it; what they remembered holds for what it covers.
 */
export function combine(
  opinions: readonly Opinion[],
  { name, hash, tool }: AgentTool,
  input: Json,
  { grants, denied }: Remembered,
): Judgement {
  const { kind, readOnly, destructive } = tool;
  const refusal = opinions.find(({ verdict }) => typeof verdict === "object" && "deny" in verdict);
  if (refusal && typeof refusal.verdict === "object" && "deny" in refusal.verdict) {
    return { verdict: "deny", by: refusal.by, reason: refusal.verdict.deny, failure: refusal.failure };
  }
  const modify = opinions.find(({ verdict }) => typeof verdict === "object" && "modify" in verdict);
  const modified =
    typeof modify?.verdict === "object" && "modify" in modify.verdict ? modify.verdict.modify : undefined;
  const asked = kind === "question" ? undefined : opinions.find(({ verdict }) => asks(verdict));
  const allowed = opinions.find(({ verdict }) => verdict === "allow") ?? modify;
  const free = readOnly || kind === "question" || (kind === "agent" && !destructive);
  const ask = askOptions(asked?.verdict, destructive);
  const call = { tool: name, toolHash: hash, input, key: keyOf(ask) };
  const forbidden = findGrant(grants, "deny", call);
  if (forbidden) {
    const { grantId, reason = "The person does not want it." } = forbidden;
    return { verdict: "deny", by: "grant", grantId, reason: `Denied before: ${reason}` };
  }
  if (modified !== undefined) {
    return { verdict: "modify", by: modify?.by ?? "policy", modified, ask: asked || denied ? ask : undefined, denied };
  }
  if (!asked && !denied && (allowed || free)) return { verdict: "allow", by: allowed?.by ?? "default" };
  const grantId = grantFor(tool, call, { grants, denied });
  if (grantId !== undefined) return { verdict: "allow", by: "grant", grantId };
  return { verdict: "ask", by: asked?.by ?? (denied ? "denied" : "default"), ask, denied, reason: ask.reason };
}

/** The grant that allows a call which would ask; never one that is older than a denial of the tool. */
export function grantFor({ destructive }: Tool, call: Covered, { grants, denied }: Remembered): string | undefined {
  if (destructive) return undefined;
  const counting = denied ? grants.filter(({ seq }) => seq > denied.seq) : grants;
  return findGrant(counting, "allow", call)?.grantId;
}

/** What a rule names for the calls that one grant covers, as text. */
export function keyOf({ grant }: AskOptions): string | undefined {
  return grant?.key === undefined ? undefined : canonicalJson(grant.key);
}

/** What a person is told of it, without the key. */
export function termsOf({ grant }: AskOptions): GrantTerms | undefined {
  return grant && { label: grant.label, uses: finite(grant.uses), forMs: finite(grant.forMs) };
}

function finite(value: number | undefined): number | undefined {
  return Number.isFinite(value) ? value : undefined;
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
