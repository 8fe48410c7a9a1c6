import type { AnyStep } from "toolrun";
import type { Strings } from "../strings.ts";
import type { IconName } from "./icon.tsx";

export interface StepLook {
  readonly icon: IconName;
  readonly word: string;
  readonly tone: "muted" | "accent" | "ok" | "warn" | "danger";
}

/** How a step looks: always an icon, a word and a colour, so that no one of them carries the meaning alone. */
export function stepLook(step: AnyStep, strings: Strings): StepLook {
  switch (step.status) {
    case "writing":
      return { icon: "pen", word: strings.preparing, tone: "muted" };
    case "waiting":
      return { icon: "clock", word: step.decision ? strings.approvedQueued : strings.waiting, tone: "muted" };
    case "queued":
      return { icon: "clock", word: step.decision ? strings.approvedQueued : strings.queued, tone: "muted" };
    case "running": {
      const asking = countAsking(step.children);
      if (asking > 0) return { icon: "ask", word: strings.needsYou(asking), tone: "warn" };
      if (step.retryAt !== undefined) return { icon: "clock", word: strings.retrying, tone: "warn" };
      return { icon: "spin", word: strings.running, tone: "accent" };
    }
    case "succeeded":
      return { icon: "check", word: strings.succeeded, tone: "ok" };
    case "failed":
      return { icon: "cross", word: strings.failed, tone: "danger" };
    case "not-run": {
      const reason = step.reason ?? "stopped";
      return { icon: reason === "expired" ? "clock" : "block", word: strings.notRun[reason], tone: "muted" };
    }
    default:
      return step.status satisfies never;
  }
}

/** How many steps of a sub-agent, and of its own ones, wait. */
function countAsking(steps: readonly AnyStep[]): number {
  return steps.reduce((sum, step) => sum + (step.ask ? 1 : 0) + countAsking(step.children), 0);
}

/** True when nothing of a step can change any more. */
export function isOver(step: AnyStep): boolean {
  return step.status === "succeeded" || step.status === "failed" || step.status === "not-run";
}
