import type { AnyStep } from "toolrun";
import type { Strings } from "../strings.ts";
import { type ChatRun, needPerson } from "./chat-run.ts";

export interface Announcement {
  readonly text: string;
  /** An alert interrupts what is being read. */
  readonly urgent: boolean;
}

/** What the announcer compares: the part of a run that can be worth a word. */
export type Spoken = Pick<
  ChatRun,
  "loading" | "threadId" | "status" | "outcome" | "limit" | "text" | "steps" | "pending" | "browserSteps" | "runId"
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
    const count = needPerson(after).length;
    return count > 0 ? [{ text: strings.announceRestored(count), urgent: false }] : [];
  }
  const said: Announcement[] = [];
  const known = new Map(before.steps.map((step) => [step.id, step]));
  for (const step of after.steps) {
    const announcement = ofStep(known.get(step.id), step, strings, who);
    if (announcement) said.push(announcement);
  }
  // A browser tool is nobody's business until it is known that no browser takes it: the card says so in its own time.
  const asked = after.pending.filter(
    ({ id, ask }) => ask?.kind !== "browser" && known.get(id)?.ask?.askedAt !== ask?.askedAt,
  );
  if (asked.length > 0) {
    const isApproval = asked.every((step) => step.ask?.kind === "approval");
    const titles = asked.map((step) => (isApproval ? step.title : (step.ask?.prompt ?? step.title)));
    said.push({ text: isApproval ? strings.announceApprovals(titles) : strings.announceNeeded(titles), urgent: true });
  }
  if (after.status === "ended" && before.status !== "ended" && before.runId === after.runId) {
    said.push(...ofEnd(after, strings));
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
  if (step.ask && before?.ask?.askedAt === step.ask.askedAt && before.ask.expiresAt !== step.ask.expiresAt) {
    return { text: strings.announceExtended(step.title, strings.period(step.ask.extendMs ?? 0)), urgent: false };
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

function ofEnd(run: Spoken, strings: Strings): readonly Announcement[] {
  if (run.outcome === "stopped") return [{ text: strings.announceStopped, urgent: false }];
  if (run.outcome === "failed") return [{ text: strings.runFailed, urgent: true }];
  const said: Announcement[] = [];
  if (run.outcome === "limited" && run.limit) said.push({ text: strings.limits[run.limit], urgent: true });
  if (run.text === "") return said;
  const words = spoken(run.text);
  const text = words.length > longestReply ? `${words.slice(0, longestReply)}… ${strings.fullReply}` : words;
  return [...said, { text: strings.announceReply(text), urgent: false }];
}

/** Without the signs of Markdown, which would be read out; of a link, its text. */
function spoken(text: string): string {
  return text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*\*|~~|`+|^#+ |^> ?/gm, "");
}
