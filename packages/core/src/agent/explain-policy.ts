import type { Grant } from "../protocol/grant.ts";
import type { User } from "../protocol/typed.ts";
import type { Json, VerdictName } from "../protocol/values.ts";
import type { Agent } from "./agent.ts";
import { checkInput } from "./check-call.ts";
import type { Opinion } from "./judge-call.ts";
import { combine, opinionsOf } from "./judge-call.ts";
import type { AskOptions } from "./verdict.ts";

/** A call that might come. */
export interface ExplainedCall {
  readonly tool: string;
  readonly input: Json;
  readonly user: User;
  readonly threadId?: string | undefined;
  readonly runId?: string | undefined;
  /** Of `thread.grants`: what people let through before. */
  readonly grants?: readonly Grant[] | undefined;
  /** Whether a person denied the tool in the run, later than any of the grants. */
  readonly denied?: boolean | undefined;
}

/** What would become of a call, and why. */
export interface PolicyExplanation {
  /** `invalid`: the input does not fit, or there is no such tool; nobody would be asked. */
  readonly verdict: VerdictName | "invalid";
  /** Who decided: `policy`, `tool`, `grant`, `denied` (earlier in the run), `default`. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly ask?: AskOptions | undefined;
  /** What a policy would run instead; not validated yet. */
  readonly modified?: Json | undefined;
  /** What each rule said, in their order: the agent's policies, then the tool's own. */
  readonly rules: readonly { readonly rule: string; readonly said: string }[];
  /** All of it, for a terminal. */
  readonly text: string;
}

/**
 * Asks the rules about a call without running anything: what would happen, and why.
 * `console.log((await explainPolicy(agent, { tool: "refund", input, user })).text)`.
 */
export async function explainPolicy(agent: Agent, call: ExplainedCall): Promise<PolicyExplanation> {
  const { user, threadId = "", runId = "", grants = [], denied } = call;
  const checked = await checkInput(agent, call.tool, call.input);
  if (!checked.ok) {
    const { code, message } = checked.error;
    return withText(call, { verdict: "invalid", by: code, reason: message, rules: [] });
  }
  const { tool, input } = checked;
  const opinions = await opinionsOf(agent, tool, { callId: "explained", input }, { user, threadId, runId });
  const { verdict, by, reason, ask, modified } = combine(opinions, tool, input, {
    grants,
    denied: denied ? { at: Date.now(), seq: Number.POSITIVE_INFINITY } : undefined,
  });
  const policies = opinions.length - 1; // the last is the tool's own
  const rules = opinions.map((opinion, index) => ({
    rule: opinion.by === "tool" ? `approval of ${call.tool}` : policies === 1 ? "policy" : `policy ${index + 1}`,
    said: wordsOf(opinion),
  }));
  return withText(call, { verdict, by, reason, ask, modified, rules });
}

function wordsOf({ verdict, failure }: Opinion): string {
  if (failure !== undefined)
    return `failed, so it denies: ${failure instanceof Error ? failure.message : String(failure)}`;
  if (verdict === undefined) return "no opinion";
  if (typeof verdict === "string") return verdict;
  if ("deny" in verdict) return `deny: ${verdict.deny}`;
  const asks = verdict.ask ? `ask ${JSON.stringify(verdict.ask)}` : "";
  if ("modify" in verdict) return `modify to ${JSON.stringify(verdict.modify)}${asks && `, then ${asks}`}`;
  return asks;
}

function withText({ tool, input }: ExplainedCall, found: Omit<PolicyExplanation, "text">): PolicyExplanation {
  const { verdict, by, reason, ask, rules } = found;
  const lines = [
    `${tool} ${JSON.stringify(input)}`,
    ...rules.map(({ rule, said }) => `  ${rule}: ${said}`),
    `  => ${verdict}${by ? ` (by ${by})` : ""}${reason ? `: ${reason}` : ""}`,
    ...(ask ? [`     scopes ${ask.scopes?.join(", ")}; editable ${JSON.stringify(ask.editable)}`] : []),
  ];
  return { ...found, text: lines.join("\n") };
}
