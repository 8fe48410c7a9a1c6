import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { Json } from "../../../src/protocol/values.ts";
import type { Execution } from "./app.ts";
import type { Answered } from "./claims.ts";
import { createClaims } from "./claims.ts";
import { isPersons } from "./facts.ts";
import { approvedInput, inOrder, isAnswer, isCovered } from "./own-rules.ts";
import { mayDo } from "./people.ts";
import type { Change } from "./recorder.ts";
import type { Sent } from "./sent.ts";
import { isAllowed } from "./sent.ts";
import type { Shown } from "./shown.ts";
import type { World } from "./world.ts";

/** Writes down what was shown to whom and what honest decisions allow; says what went beyond. */
export interface Ledger {
  /** Looks at one request and everything that followed from it. */
  check(sent: Sent, answered: Answered, changes: readonly Change[], ran: readonly Execution[], now: number): string[];
  /** Questions that still wait for an honest decision. */
  open(now: number): readonly Shown[];
}

interface Remembered {
  readonly grantId: string;
  readonly threadId: string;
  readonly runId: string | undefined;
  readonly tool: string;
  readonly input: string;
}

interface Decision {
  readonly callId: string;
  readonly digest: string;
  readonly action: string;
  readonly input?: Json;
  readonly value?: Json;
  readonly error?: unknown;
  readonly scope?: unknown;
}

export function createLedger(world: World): Ledger {
  const owners = new Map(world.conversations.map(({ id, owner }) => [id, owner]));
  const logs = new Map(world.conversations.map(({ id, events }) => [id, [...events]]));
  const open = new Map(world.conversations.flatMap(({ shown }) => shown).map((step) => [step.callId, step]));
  const removed = new Set<string>();
  /** What may run, by call. */
  const permits = new Map<string, string>();
  const judgeClaim = createClaims(world.past);
  let grants: readonly Remembered[] = world.conversations.flatMap(grantsIn);

  const logOf = (threadId: string): ThreadEvent[] => {
    const log = logs.get(threadId) ?? [];
    logs.set(threadId, log);
    return log;
  };
  const has = (threadId: string | undefined, fits: (event: ThreadEvent) => boolean): boolean =>
    threadId !== undefined && (logs.get(threadId) ?? []).some((event) => fits(event));
  const callOf = (threadId: string, callId: string): (ThreadEvent & { type: "call-ready" }) | undefined =>
    logs.get(threadId)?.find((event) => event.type === "call-ready" && event.callId === callId) as
      | (ThreadEvent & { type: "call-ready" })
      | undefined; // that type

  /** Decisions the answer says were accepted, and that are no repetition. */
  const accepted = (sent: Sent, { status, text }: Answered): readonly Decision[] => {
    if (sent.method !== "POST" || sent.action !== "decisions" || status >= 300) return [];
    const { results } = JSON.parse(text) as { readonly results: readonly { callId: string; ok: boolean }[] };
    const taken = new Set(results.filter(({ ok }) => ok).map(({ callId }) => callId));
    return ((sent.body?.decisions ?? []) as readonly Decision[]).filter(({ callId }) => taken.has(callId));
  };

  /** Whether one accepted decision was about what was shown, and lets nothing else run. */
  const judge = (sent: Sent, decision: Decision, now: number): string | undefined => {
    const { callId, digest, action, input, scope } = decision;
    const step = open.get(callId);
    if (!step) return "nothing waits there";
    if (step.threadId !== sent.threadId) return "it waits in another conversation";
    if (step.digest !== digest) return "another digest than the one shown";
    if (step.expiresAt <= now) return "its time is over";
    if (action === "deny" || action === "skip") return undefined;
    if (action === "extend") return step.extendMs === undefined ? "it cannot be extended" : undefined;
    if (action === "retry") {
      permits.set(callId, inOrder(step.input));
      return step.kind === "interrupted" ? undefined : "nothing to try again";
    }
    if (action === "answer") {
      if (step.kind === "approval") return "an answer to an approval";
      return isAnswer(step.tool, decision.value, decision.error) ? undefined : "not what may be answered";
    }
    if (action !== "approve" || step.kind !== "approval") return `${action} of ${step.kind}`;
    const approved = approvedInput(step, input, scope);
    if (typeof approved !== "string") return approved.wrong;
    permits.set(callId, approved);
    if (scope === "run" || scope === "thread") {
      const { threadId, tool } = step;
      const runId = scope === "run" ? (callOf(threadId, callId)?.runId ?? "") : undefined;
      grants = [...grants, { grantId: `g-${callId}`, threadId, runId, tool, input: approved }];
    }
    return undefined;
  };

  /** Whether a fact that a person made is this person's. */
  const judgeFact = (sent: Sent, { status }: Answered, threadId: string, event: ThreadEvent): string | undefined => {
    const owner = owners.get(threadId) ?? "";
    if (status >= 300) return "a refused request did it";
    if (sent.threadId !== undefined && sent.threadId !== threadId) return "a request about another conversation did it";
    if (!isAllowed(sent, owner)) return `${sent.user} may not`;
    const by = "by" in event ? event.by : undefined;
    if (typeof by === "object" && by.id !== sent.user) return `it is said to be by ${by.id}`;
    if ("key" in event && event.type !== "call-started" && event.key !== sent.body?.key) return "under another key";
    return undefined;
  };

  /** Whether a decision in the log is one that was made. */
  const judgeRecord = (
    sent: Sent,
    decisions: readonly Decision[],
    event: ThreadEvent & { type: "decision-recorded" },
    now: number,
  ): string | undefined => {
    const { callId, action, grantId, input } = event;
    const step = open.get(callId);
    if (action === "expire") return step && step.expiresAt <= now ? undefined : "it expired before its time";
    if (sent.action === "messages")
      return action === "deny" && sent.body?.pending === "deny" ? undefined : "by a message";
    const own = decisions.find((decision) => decision.callId === callId);
    if (own) {
      if (own.action !== action) return `recorded as ${action}`;
      if (action !== "approve") return undefined;
      return inOrder(input ?? step?.input) === permits.get(callId) ? undefined : "another input was recorded";
    }
    const by = decisions.find((decision) => grantId === `g-${decision.callId}` && decision.action === action);
    if (!step || !by || by.scope === undefined || by.scope === "once") return "nobody decided it";
    const first = callOf(step.threadId, by.callId);
    const granted = grants.find((each) => each.grantId === grantId)?.input ?? inOrder(first?.input);
    if (first?.tool !== step.tool || !isCovered(step.tool, granted, step.input)) return "it is not covered";
    if (action === "approve") permits.set(callId, inOrder(step.input));
    return undefined;
  };

  /** What changes for later requests. */
  const note = (threadId: string, event: ThreadEvent): void => {
    logOf(threadId).push(event);
    if (event.type === "decision-recorded" || event.type === "call-settled") open.delete(event.callId);
    if (event.type === "grant-revoked") grants = grants.filter(({ grantId }) => grantId !== event.grantId);
    if (event.type === "decision-extended") {
      const step = open.get(event.callId);
      if (step) open.set(event.callId, { ...step, expiresAt: event.expiresAt });
    }
    if (event.type === "decision-requested") {
      const { callId, kind, digest, editable = false, scopes = ["once"], extendMs } = event;
      const { tool = "", input = null } = callOf(threadId, callId) ?? {};
      const expiresAt = event.expiresAt ?? Number.POSITIVE_INFINITY;
      open.set(callId, { threadId, callId, tool, kind, digest, input, editable, scopes, expiresAt, extendMs });
    }
  };

  /** Whoever may write in it and looks at it makes a question expire whose time is over. */
  const isDue = ({ user, isOwn }: Sent, threadId: string, now: number): boolean =>
    isOwn &&
    user !== undefined &&
    mayDo(user, "send", owners.get(threadId) ?? "") &&
    [...open.values()].some((step) => step.threadId === threadId && step.expiresAt <= now);

  const judgeChanges = (
    sent: Sent,
    answered: Answered,
    changes: readonly Change[],
    decisions: readonly Decision[],
    now: number,
  ): string[] => {
    const wrong: string[] = [];
    const moved = new Set<string>();
    for (const { threadId, events } of changes) {
      if (events.length === 0) {
        const isRight =
          sent.method === "DELETE" && sent.action === "" && sent.threadId === threadId && answered.status === 204;
        if (!isRight || !isAllowed(sent, owners.get(threadId) ?? "")) wrong.push(`${threadId} was removed`);
        removed.add(threadId);
        for (const { callId, ...step } of open.values()) if (step.threadId === threadId) open.delete(callId);
      }
      for (const event of events) {
        if (event.type === "thread-created") owners.set(threadId, event.owner);
        const isFact = isPersons(event);
        const isExpiry = event.type === "decision-recorded" && event.action === "expire";
        const why = isFact ? judgeFact(sent, answered, threadId, event) : undefined;
        if (why) wrong.push(`${event.type}: ${why}`);
        if (event.type === "decision-recorded") {
          const which = judgeRecord(sent, decisions, event, now);
          if (which) wrong.push(`${event.type} ${event.action}: ${which}`);
        }
        if (isFact || isExpiry) moved.add(threadId);
        else if (!moved.has(threadId) && isDue(sent, threadId, now)) moved.add(threadId);
        else if (!moved.has(threadId)) wrong.push(`${event.type} in a conversation nobody wrote to`);
        note(threadId, event);
      }
    }
    return wrong;
  };

  /** What the answer claims must be in the log. */
  const judgeRun = ({ tool, input, callId, threadId, userId }: Execution): string | undefined => {
    const owner = owners.get(threadId) ?? "";
    if (!mayDo(userId, "send", owner)) return `for ${userId}`;
    const call = callOf(threadId, callId);
    if (call?.tool !== tool) return "nobody asked for it there";
    const permit = permits.get(callId);
    permits.delete(callId);
    if (permit !== undefined)
      return permit === inOrder(input) ? undefined : `with ${JSON.stringify(input)}, not ${permit}`;
    const isGranted = grants.some(
      (grant) =>
        grant.threadId === threadId &&
        grant.tool === tool &&
        (grant.runId ?? call.runId) === call.runId &&
        isCovered(tool, grant.input, input),
    );
    const starts = logOf(threadId).filter((event) => event.type === "call-started" && event.callId === callId);
    return isGranted && starts.length === 1 ? undefined : "nobody allowed it";
  };

  return {
    check(sent, answered, changes, ran, now) {
      const decisions = accepted(sent, answered);
      const isNew = ({ callId }: Decision): boolean =>
        !has(
          sent.threadId,
          (event) =>
            "callId" in event &&
            event.callId === callId &&
            "key" in event &&
            event.key === sent.body?.key &&
            "by" in event &&
            event.by?.id === sent.user,
        );
      const wrong: string[] = [];
      for (const decision of decisions.filter(isNew)) {
        const why = judge(sent, decision, now);
        if (why) wrong.push(`accepted ${decision.action} of ${decision.callId}: ${why}`);
      }
      wrong.push(...judgeChanges(sent, answered, changes, decisions, now));
      const claim = judgeClaim(sent, answered, (threadId) => logs.get(threadId), removed);
      if (claim) wrong.push(`${claim}, and it is not so`);
      for (const execution of ran) {
        const why = judgeRun(execution);
        if (why) wrong.push(`${execution.tool} ran: ${why}`);
      }
      return wrong;
    },
    open: (now) => [...open.values()].filter(({ expiresAt }) => expiresAt > now),
  };
}

/** What was remembered before the attacks. */
function grantsIn({ id, events }: World["conversations"][number]): readonly Remembered[] {
  return events.flatMap((event) => {
    if (event.type !== "decision-recorded" || event.action !== "approve" || event.scope !== "thread") return [];
    const call = events.find((other) => other.type === "call-ready" && other.callId === event.callId);
    if (call?.type !== "call-ready") return [];
    return [
      { grantId: `g-${event.callId}`, threadId: id, runId: undefined, tool: call.tool, input: inOrder(call.input) },
    ];
  });
}
