"use client";

import { type ReactNode, useEffect, useState } from "react";
import type { ActionResult, LimitName, NoticePart } from "toolrun";
import { Icon } from "../step/icon.tsx";
import { useStepContext } from "../step/step-context.ts";
import { useNow } from "../step/time.tsx";
import type { ChatRun } from "./chat-run.ts";
import { noticeWords } from "./run-notice.tsx";

/** A connection lost for a moment is nobody's business. */
const quietMs = 3_000;

/** Limits that going on would only reach again. */
const SAME_AGAIN: ReadonlySet<LimitName> = new Set(["log-size", "depth"]);

/** How the last run ended, if not by its answer, and what one can do about it; and whether the server can be heard. */
export function RunBanner({ run }: { readonly run: ChatRun }): ReactNode {
  const lost = useLost(run);
  return (
    <>
      <Ended run={run} />
      <RunError run={run} />
      {lost || run.connection.status === "removed" ? <ConnectionBanner run={run} /> : null}
    </>
  );
}

function Ended({ run }: { readonly run: ChatRun }): ReactNode {
  const { strings, me } = useStepContext();
  const [refusal, setRefusal] = useState<string>();
  const { outcome, limit, code } = run;
  if (run.status !== "ended" || !outcome || outcome === "completed") return null;
  const canContinue = run.access.send && !(limit && SAME_AGAIN.has(limit));
  const goOn = async (): Promise<void> => {
    const result: ActionResult = await run.continue();
    setRefusal(result.ok ? undefined : result.message);
  };
  return (
    <div className="tr-banner" data-tone={outcome === "failed" ? "danger" : "warn"} data-outcome={outcome}>
      <Icon name={outcome === "stopped" ? "stop" : "warn"} />
      <p>
        {noticeWords(lastNotice(run) ?? { outcome, limit, code }, strings, me)}{" "}
        {outcome === "limited" && canContinue ? strings.nothingLost : null}
        {outcome === "failed" && code ? (
          <span className="tr-muted">
            {" "}
            <code>{code}</code>
          </span>
        ) : null}
        {refusal ? <span role="alert"> {refusal}</span> : null}
      </p>
      {canContinue ? (
        <button type="button" className="tr-button" onClick={() => void goOn()}>
          {strings.continue}
        </button>
      ) : null}
    </div>
  );
}

/** The notice knows who stopped it; the run itself only that it was stopped. */
function lastNotice(run: ChatRun): NoticePart | undefined {
  const part = run.messages.findLast((message) => message.runId === run.runId)?.parts.at(-1);
  return part?.type === "notice" ? part : undefined;
}

function RunError({ run }: { readonly run: ChatRun }): ReactNode {
  const { strings } = useStepContext();
  const [dismissed, setDismissed] = useState<unknown>(null);
  const { error } = run;
  if (!error || error === dismissed || run.connection.status === "removed") return null;
  return (
    <div className="tr-banner" data-tone="danger" role="alert">
      <Icon name="warn" />
      <p>
        {error.message}
        {error.reference ? <span className="tr-muted"> {strings.reference(error.reference)}</span> : null}
      </p>
      <button type="button" className="tr-button" onClick={() => void run.refresh()}>
        {strings.retryNow}
      </button>
      <button type="button" className="tr-button tr-quiet" onClick={() => setDismissed(error)}>
        {strings.dismiss}
      </button>
    </div>
  );
}

function ConnectionBanner({ run }: { readonly run: ChatRun }): ReactNode {
  const { strings } = useStepContext();
  const { status, attempt, nextAt } = run.connection;
  const now = useNow(nextAt !== undefined);
  const left = nextAt === undefined || now === null ? 0 : nextAt - now;
  return (
    <div className="tr-banner" data-tone="muted" data-connection={status}>
      <Icon name="clock" />
      <p>
        {status === "removed" ? strings.removed : status === "offline" ? strings.offline : strings.reconnecting}
        {status === "reconnecting" && attempt !== undefined ? (
          <span className="tr-muted tr-tabular"> {strings.nextTry(attempt, strings.seconds(left))}</span>
        ) : null}
      </p>
      {status === "reconnecting" ? (
        <button type="button" className="tr-button" onClick={() => void run.refresh()}>
          {strings.retryNow}
        </button>
      ) : null}
    </div>
  );
}

/** True once the connection has been lost for longer than a moment. */
export function useLost(run: Pick<ChatRun, "connection">): boolean {
  const { status } = run.connection;
  const isLost = status === "reconnecting" || status === "offline";
  const [lost, setLost] = useState(false);
  useEffect(() => {
    if (!isLost) return setLost(false);
    const timer = setTimeout(() => setLost(true), quietMs);
    return () => clearTimeout(timer);
  }, [isLost]);
  return isLost && lost;
}
