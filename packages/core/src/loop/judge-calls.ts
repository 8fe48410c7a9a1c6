import type { Agent, AgentTool } from "../agent/agent.ts";
import { checkInput } from "../agent/check-call.ts";
import type { Judgement, Remembered } from "../agent/judge-call.ts";
import { grantFor, judgeCall, keyOf, termsOf } from "../agent/judge-call.ts";
import { wellFormed } from "../protocol/copy-json.ts";
import { digestCall } from "../protocol/digest.ts";
import type { EventDraft } from "../protocol/event.ts";
import type { Denial } from "../protocol/grant.ts";
import { liveGrants } from "../protocol/grant.ts";
import { effectSoFar, pathOf } from "../protocol/read-thread.ts";
import type { Call, Run, Thread } from "../protocol/thread.ts";
import { rootOf } from "../protocol/thread.ts";
import { agentFor } from "./agent-for.ts";
import type { LoopContext } from "./context.ts";
import { inTime, RULE_MS } from "./in-time.ts";
import { callsLeft } from "./limits.ts";

type Drafts = readonly EventDraft[];

const LATE_RULE: Judgement = {
  verdict: "deny",
  by: "policy",
  reason: "The rule for this tool did not answer in time, so it was not run.",
  failure: new Error("A policy or approval did not answer in time."),
};

/** Said where a deploy took a tool away, or made another of it. */
export const GONE: string = "This tool is no longer available as it was.";

/**
 * Asks the rules about calls of a whole turn; asynchronous only where a rule or a schema is. A grant that is good for
 * so many calls is spent call by call.
 */
export function judgeCalls(
  run: Run,
  calls: readonly Call[],
  thread: Thread,
  options: LoopContext,
): Drafts | Promise<Drafts> {
  const agent = agentFor(thread, run, options.agent);
  const all = thread.grants;
  const grants = all.length > 0 ? liveGrants(all, pathOf(thread, run), options.clock.now()) : all;
  const judge = (call: Call, left: Thread["grants"]): Drafts | Promise<Drafts> =>
    overLimit(run, call, thread, options.agent) ?? judgeOne(run, call, agent, thread, left, options);
  if (calls.length > 1 && grants.some(({ uses }) => uses !== undefined)) return oneByOne(calls, grants, judge);
  const judged = calls.map((call) => judge(call, grants));
  return judged.some((result) => result instanceof Promise)
    ? Promise.all(judged).then((events) => events.flat())
    : (judged as readonly Drafts[]).flat(); // none is a promise
}

async function oneByOne(
  calls: readonly Call[],
  grants: Thread["grants"],
  judge: (call: Call, left: Thread["grants"]) => Drafts | Promise<Drafts>,
): Promise<Drafts> {
  const all: EventDraft[] = [];
  for (const call of calls) {
    const left = grants.filter(({ grantId, used, uses = Number.POSITIVE_INFINITY }) => {
      return used + all.filter((event) => "grantId" in event && event.grantId === grantId).length < uses;
    });
    all.push(...(await judge(call, left)));
  }
  return all;
}

/** One answer may ask for more than is left: calls beyond a limit are not run, and nobody is asked about them. */
function overLimit(run: Run, call: Call, thread: Thread, root: Agent): Drafts | undefined {
  const calls = run.turn?.calls ?? [];
  // This turn's calls count already: those from here on are beyond the limit.
  const left = callsLeft(thread, run, root.rules) + calls.length - calls.indexOf(call);
  if (left <= 0) return blocked(run, call, "This run may not make more calls.", "default");
  const isAgent = agentFor(thread, run, root)?.tools.get(call.tool)?.tool.kind === "agent";
  const { depth } = root.rules.limits;
  if (!isAgent || run.depth < depth) return undefined;
  const reached = {
    type: "limit-reached",
    runId: run.runId,
    limit: "depth",
    count: depth + 1,
    follows: "note",
  } as const;
  return [reached, ...blocked(run, call, `Agents may work ${depth} deep, one below the other.`, "default")];
}

/** What people denied before of this very agent's tool: the latest. */
function deniedBefore(thread: Thread, run: Run, tool: string): Denial | undefined {
  const denials = rootOf(thread)?.denials ?? [];
  if (denials.length === 0) return undefined;
  const path = JSON.stringify(pathOf(thread, run));
  return denials.findLast((each) => each.tool === tool && JSON.stringify(each.path) === path);
}

function judgeOne(
  run: Run,
  call: Call,
  agent: Agent | undefined,
  thread: Thread,
  grants: Thread["grants"],
  options: LoopContext,
): Drafts | Promise<Drafts> {
  const { user } = options;
  const tool = agent?.tools.get(call.tool);
  if (!agent || !tool || tool.hash !== call.toolHash) {
    return blocked(run, call, GONE, "default");
  }
  const context = { user, threadId: thread.id, runId: run.runId };
  const remembered = { grants, denied: deniedBefore(thread, run, call.tool) };
  const verdict = judgeCall(agent, tool, call, context, remembered);
  const record = (judgement: Judgement): Drafts | Promise<Drafts> => {
    if (judgement.failure !== undefined) options.onError(judgement.failure);
    return judgement.modified === undefined
      ? judgedEvents(run, call, tool, judgement, options)
      : inTime(
          options.clock,
          modify(run, call, agent, judgement, remembered, thread.id, options),
          RULE_MS,
          blocked(run, call, LATE_RULE.reason ?? "", "policy"),
        );
  };
  return verdict instanceof Promise ? inTime(options.clock, verdict, RULE_MS, LATE_RULE).then(record) : record(verdict);
}

/** A policy put other input in the call's place: it is checked like the model's own. */
async function modify(
  run: Run,
  call: Call,
  agent: Agent,
  judgement: Judgement,
  remembered: Remembered,
  threadId: string,
  options: LoopContext,
): Promise<Drafts> {
  const checked = await checkInput(agent, call.tool, judgement.modified ?? null);
  if (!checked.ok) return blocked(run, call, checked.error.message, judgement.by);
  const { toolHash = "", salt = "", tool, callId } = call;
  // The tool's own rule has seen the old input only: what it denies, no policy can put in.
  const context = { user: options.user, threadId, runId: run.runId };
  const again = await judgeCall(agent, checked.tool, { callId, input: checked.input }, context, remembered);
  if (again.verdict === "deny") return blocked(run, call, again.reason ?? "Not allowed.", again.by, again.grantId);
  const covered = { tool, toolHash, input: checked.input, key: keyOf(judgement.ask ?? {}) };
  const grantId = judgement.ask && grantFor(checked.tool.tool, covered, remembered);
  const granted = grantId === undefined ? judgement : ({ verdict: "modify", by: "grant", grantId } as const);
  const digest = digestCall({ tool, toolHash, input: checked.input, salt });
  if (digest === call.digest) return judgedEvents(run, call, checked.tool, granted, options); // it was so before
  return judgedEvents(run, { ...call, input: checked.input, digest }, checked.tool, granted, options, true);
}

function judgedEvents(
  run: Run,
  call: Call,
  { tool }: AgentTool,
  judgement: Judgement,
  { clock }: LoopContext,
  changed = false,
): Drafts {
  const { verdict, by, reason, grantId, ask, denied } = judgement;
  if (verdict === "deny") return blocked(run, call, reason ?? "Not allowed.", by, grantId);
  const { runId } = run;
  const { callId, digest } = call;
  const input = changed ? call.input : undefined;
  const judged: EventDraft = { type: "call-judged", runId, callId, digest, verdict, by, input, reason, grantId };
  if (!ask) return [judged];
  const { editable, scopes, expiresInMs = Number.POSITIVE_INFINITY, extendable = true } = ask;
  const ends = Number.isFinite(expiresInMs);
  return [
    judged,
    {
      type: "decision-requested",
      runId,
      callId,
      digest,
      kind: "approval",
      editable,
      scopes,
      grant: termsOf(ask),
      grantKey: keyOf(ask),
      reason: ask.reason,
      denied: denied && { by: denied.by, at: denied.at, reason: denied.reason },
      schema: editable === false ? undefined : tool.inputJsonSchema,
      expiresAt: ends ? clock.now() + expiresInMs : undefined,
      extendMs: ends && extendable ? expiresInMs : undefined,
    },
  ];
}

function blocked(run: Run, call: Call, reason: string, by: Judgement["by"], grantId?: string): Drafts {
  const { runId } = run;
  const { callId, digest } = call;
  return [
    { type: "call-judged", runId, callId, verdict: "deny", by, digest, reason: wellFormed(reason), grantId },
    { type: "call-settled", runId, callId, outcome: "not-run", reason: "blocked", effect: effectSoFar(call) },
  ];
}
