"use client";

import type { UseToolRun } from "@toolrun/react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { clickTwentyTimes, forgeApproval, type OpenStep } from "./break-attempts.ts";
import styles from "./try-to-break-it.module.css";
import { useRestart } from "./use-restart.ts";

const reloadKey = "shop:reloaded";

export interface TryToBreakItProps {
  readonly run: UseToolRun;
  readonly endpoint: string;
  /** Whether somebody would start the server again. */
  readonly canRestart: boolean;
}

/** Under an open approval: each button is a promise of the server's, and prints in one line what became of it. */
export function TryToBreakIt({ run, endpoint, canRestart }: TryToBreakItProps): ReactNode {
  const [lines, setLines] = useState<readonly string[]>([]);
  const [isTrying, setTrying] = useState(false);
  const output = useRef<HTMLOutputElement>(null);
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  const print = (line: string): void => setLines((before) => [...before, line].slice(-4));
  const { isRestarting, restart } = useRestart(run, print);
  const busy = isTrying || isRestarting;
  useReloadReport(run, print);
  useForgetWith(run.threadId, () => setLines([]));

  const step = run.pending.find(({ ask }) => ask?.kind === "approval");
  if (!step && lines.length === 0) return null;
  const attempt = (name: typeof clickTwentyTimes) => async (): Promise<void> => {
    if (busy || !step) return;
    setTrying(true);
    output.current?.focus({ preventScroll: true }); // the buttons go when the step is decided
    print(await safely(name, step, { endpoint, now: () => latest.current }));
    setTrying(false);
  };
  return (
    <aside className={styles.strip} aria-label="Try to break it">
      {step ? (
        <div className={styles.row}>
          <h3>Try to break it</h3>
          <button
            type="button"
            aria-disabled={busy || undefined}
            title="Approves this step with 20 requests at once"
            onClick={() => void attempt(clickTwentyTimes)()}
          >
            Click 20 times
          </button>
          <button
            type="button"
            title="Reloads this page in the middle of everything"
            onClick={() => {
              sessionStorage.setItem(reloadKey, String(run.pending.length));
              window.location.reload();
            }}
          >
            Reload
          </button>
          {canRestart ? (
            <button
              type="button"
              aria-disabled={busy || undefined}
              title="Kills the server's process, with all it has in memory, and starts another one"
              onClick={() => {
                if (!busy) void restart();
              }}
            >
              Restart the server
            </button>
          ) : null}
          <button
            type="button"
            aria-disabled={busy || undefined}
            title="Posts an approval of this card with a hundred times the amount"
            onClick={() => void attempt(forgeApproval)()}
          >
            Forge an approval
          </button>
        </div>
      ) : null}
      <output ref={output} className={styles.output} aria-live="polite" tabIndex={-1}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same line may come twice.
          <p key={index}>{line}</p>
        ))}
      </output>
    </aside>
  );
}

type Attempt = typeof clickTwentyTimes;

async function safely(attempt: Attempt, step: OpenStep, context: Parameters<Attempt>[1]): Promise<string> {
  try {
    return await attempt(step, context);
  } catch {
    return "The server could not be reached. Nothing was sent.";
  }
}

/** After the reload that this strip caused: what is still there, compared with what was there before. */
function useReloadReport(run: TryToBreakItProps["run"], print: (line: string) => void): void {
  const report = useRef(print);
  report.current = print;
  const { loading, error, threadId } = run;
  const waiting = run.pending.length;
  useEffect(() => {
    const before = loading ? null : sessionStorage.getItem(reloadKey);
    if (before === null || (threadId === undefined && !error)) return;
    sessionStorage.removeItem(reloadKey);
    const what = `${waiting} approval${waiting === 1 ? "" : "s"} still waiting`;
    const isWhole = !error && waiting >= Number(before);
    report.current(isWhole ? `Reloaded. Nothing was lost: ${what}.` : `Reloaded. ${before} before, ${what} now.`);
  }, [loading, error, threadId, waiting]);
}

/** What was printed belongs to the conversation it was tried in. */
function useForgetWith(threadId: string | undefined, forget: () => void): void {
  const before = useRef(threadId);
  const action = useRef(forget);
  action.current = forget;
  useEffect(() => {
    if (before.current !== undefined && before.current !== threadId) action.current();
    before.current = threadId;
  }, [threadId]);
}
