import type { Ask, Call, Decision, Progress, Run, StepStatus, Thread } from "./thread.ts";
import { turnsOf } from "./thread.ts";
import type { Json, NotRunReason, StepError } from "./values.ts";

/** A call as hook, screens and `thread.steps` show it, whatever its tool. */
export interface AnyStep {
  readonly id: string;
  readonly threadId: string;
  readonly tool: string;
  /** The tool's title, else its name in words. */
  readonly title: string;
  readonly summary?: string | undefined;
  readonly status: StepStatus;
  /** The validated input: what is shown, digested and run. Null while the model writes. */
  readonly input: Json;
  /** The text of the arguments while the model writes them. */
  readonly draft: string;
  /** Identifies exactly what is on screen; a decision echoes it. */
  readonly digest: string;
  readonly destructive: boolean;
  /** Why and how a person is asked; null once somebody answered. */
  readonly ask: Ask | null;
  /** When it last asked, answered since or not. */
  readonly askedAt?: number | undefined;
  readonly decision: Decision | null;
  /** Decisions before the latest question: an approval, answers the tool asked for. */
  readonly earlier: readonly Decision[];
  /** The grant that allowed it without asking. */
  readonly grantId?: string | undefined;
  readonly attempt: number;
  readonly retryAt?: number | undefined;
  readonly lastError?: string | undefined;
  readonly progress: Progress | null;
  readonly log: readonly string[];
  readonly partial?: Json | undefined;
  readonly output?: Json | undefined;
  readonly error?: StepError | undefined;
  readonly reason?: NotRunReason | undefined;
  readonly effect?: "unknown" | "none" | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** Steps of the sub-agent this call runs. */
  readonly children: readonly AnyStep[];
  /** This tab's own decision, posted and not confirmed yet. */
  readonly sending: boolean;
}

const steps = new WeakMap<Call, AnyStep>();

/** The step of a call; the same object until the call or a step of its sub-agent changes. */
export function viewStep(thread: Thread, call: Call): AnyStep {
  const child = childOf(thread, call);
  const children = child ? childSteps(thread, child) : [];
  const known = steps.get(call);
  if (known && sameItems(known.children, children)) return known;
  const step = toStep(thread.id, call, children);
  steps.set(call, step);
  return step;
}

function toStep(threadId: string, call: Call, children: readonly AnyStep[]): AnyStep {
  return {
    id: call.callId,
    threadId,
    tool: call.tool,
    title: call.title ?? titleOf(call.tool),
    summary: call.summary,
    status: call.status,
    input: call.input,
    draft: call.draft,
    digest: call.status === "waiting" && call.ask ? call.ask.digest : call.digest,
    destructive: call.destructive ?? false,
    ask: call.status === "waiting" && !call.decision ? call.ask : null,
    askedAt: call.ask?.askedAt,
    decision: call.decision,
    earlier: call.earlier,
    grantId: call.decision?.grantId ?? call.verdict?.grantId,
    attempt: call.attempt,
    retryAt: call.retryAt,
    lastError: call.lastError,
    progress: call.progress,
    log: call.log,
    partial: call.partial,
    output: call.output,
    error: call.error,
    reason: call.reason,
    effect: call.effect,
    startedAt: call.startedAt,
    endedAt: call.endedAt,
    children,
    sending: false,
  };
}

/** `refundOrder` and `refund_order` become "Refund order". */
export function titleOf(tool: string): string {
  const words = tool.replace(/[_-]+/g, " ").replace(/([a-z\d])([A-Z])/g, (_, left, right) => `${left} ${right}`);
  const text = words.trim().toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function childOf(thread: Thread, call: Call): Run | undefined {
  if (thread.active.length < 2 && thread.runs.every((run) => run.depth === 0)) return undefined;
  return [...thread.active, ...thread.runs].find((run) => run.parentCallId === call.callId);
}

function childSteps(thread: Thread, run: Run): readonly AnyStep[] {
  return turnsOf(run).flatMap((turn) => turn.calls.map((call) => viewStep(thread, call)));
}

function sameItems(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}
