import type { ThreadEvent } from "../../src/protocol/event.ts";

/** What a remembered decision may cover, as the log says it. */
interface Known {
  readonly tool: string;
  readonly input: string;
  readonly verdict: "allow" | "deny";
  /** The person's run, where it is good for that run only. */
  readonly runId: string | undefined;
  live: boolean;
}

interface Step {
  readonly tool: string;
  readonly input: string;
}

/** I9: a remembered decision covers exactly what it was said of, while it holds. Read without the reducer. */
export interface GrantChecker {
  /** Any event, before it is checked: what ends grants. */
  seen(event: ThreadEvent): void;
  /** A decision that may be remembered, or that a remembered one made. */
  decided(event: ThreadEvent & { type: "decision-recorded" }, step: Step): void;
  /** Something happened to a step because of a grant. */
  used(event: ThreadEvent, grantId: string | undefined, step: Step): void;
  /** A step still waits at the end of an append. */
  waits(event: ThreadEvent, step: Step): void;
  endOfBatch(): void;
  isLive(grantId: string | undefined): boolean;
}

export function createGrantChecker(fail: (event: ThreadEvent, message: string) => void): GrantChecker {
  const grants = new Map<string, Known>();
  let root = "";
  let made: readonly Known[] = [];

  const used = (event: ThreadEvent, grantId: string | undefined, step: Step): void => {
    if (grantId === undefined) return;
    const grant = grants.get(grantId);
    if (!grant?.live) fail(event, `${grantId} counts, and it was taken back or never given`);
    else if (grant.tool !== step.tool || grant.input !== step.input) fail(event, `${grantId} covers another step`);
  };

  return {
    seen(event) {
      if (event.type === "run-started" && event.depth === 0) root = event.runId ?? "";
      const ends = (grant: Known, id: string): boolean =>
        (event.type === "grant-revoked" && event.grantId === id) ||
        (event.type === "run-ended" && grant.runId === event.runId);
      for (const [id, grant] of grants) if (ends(grant, id)) grant.live = false;
    },
    decided(event, step) {
      used(event, event.grantId, step);
      const { action, scope, callId } = event;
      if ((action !== "approve" && action !== "deny") || scope === undefined || scope === "once") return;
      const runId = scope === "run" ? root : undefined;
      const grant: Known = { ...step, verdict: action === "approve" ? "allow" : "deny", runId, live: true };
      grants.set(`g-${callId}`, grant);
      made = [...made, grant];
    },
    used,
    waits(event, step) {
      if (made.some((grant) => grant.tool === step.tool && grant.input === step.input)) {
        fail(event, "a step still waits although it was just decided for all like it");
      }
    },
    endOfBatch() {
      made = [];
    },
    isLive: (grantId) => grantId !== undefined && grants.get(grantId)?.live === true,
  };
}
