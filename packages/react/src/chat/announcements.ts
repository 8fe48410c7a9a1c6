import type { AnyStep } from "toolrun";
import type { Strings } from "../strings.ts";
import type { ChatRun } from "./chat-run.ts";

export interface Announcement {
  readonly text: string;
  /** An alert interrupts what is being read. */
  readonly urgent: boolean;
}

/** What the announcer compares: the part of a run that can be worth a word. */
export type Spoken = Pick<
  ChatRun,
  "loading" | "threadId" | "status" | "outcome" | "text" | "steps" | "pending" | "runId"
>;

const longestReply = 500;

/**
 * What became worth saying between two states. Never tokens, progress or clocks, and nothing of a history that was only
 * loaded: of that, at most that approvals wait.
 */
export function announcements(
  before: Spoken,
  after: Spoken,
  strings: Strings,
  who: (step: AnyStep) => string | null,
): readonly Announcement[] {
  if (after.loading) return [];
  const isReplay = before.loading || (before.threadId !== after.threadId && before.threadId !== undefined);
  if (isReplay) {
    const count = after.pending.length;
    return count > 0 ? [{ text: strings.announceRestored(count), urgent: false }] : [];
  }
  const said: Announcement[] = [];
  const known = new Map(before.steps.map((step) => [step.id, step]));
  for (const step of after.steps) {
    const announcement = ofStep(known.get(step.id), step, strings, who);
    if (announcement) said.push(announcement);
  }
  const asked = after.pending.filter((step) => !known.get(step.id)?.ask);
  if (asked.length > 0) {
    said.push({ text: strings.announceApprovals(asked.map((step) => step.title)), urgent: true });
  }
  if (after.status === "ended" && before.status !== "ended" && before.runId === after.runId) {
    const end = ofEnd(after, strings);
    if (end) said.push(end);
  }
  return said;
}

function ofStep(
  before: AnyStep | undefined,
  step: AnyStep,
  strings: Strings,
  who: (step: AnyStep) => string | null,
): Announcement | undefined {
  if (before === step) return undefined;
  if (step.status === "failed" && before?.status !== "failed") {
    const message = step.error?.message || strings.failed;
    return { text: strings.announceFailed(step.title, message), urgent: true };
  }
  if (!step.decision || before?.decision) return undefined;
  const { action, via } = step.decision;
  if (action === "expire") return { text: strings.announceExpired(step.title), urgent: true };
  const isMine = before?.sending === true;
  if (action === "deny") return { text: strings.announceDenied(step.title, who(step)), urgent: !isMine };
  return action === "approve" && via !== "clock"
    ? { text: strings.announceApproved(step.title), urgent: false }
    : undefined;
}

function ofEnd(run: Spoken, strings: Strings): Announcement | undefined {
  if (run.outcome === "stopped") return { text: strings.announceStopped, urgent: false };
  if (run.outcome === "failed") return { text: strings.runFailed, urgent: true };
  if (run.text === "") return undefined;
  const text = run.text.length > longestReply ? `${run.text.slice(0, longestReply)}… ${strings.fullReply}` : run.text;
  return { text: strings.announceReply(text), urgent: false };
}
