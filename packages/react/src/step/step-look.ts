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
    case "running":
      return { icon: "spin", word: strings.running, tone: "accent" };
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
