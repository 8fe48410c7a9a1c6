"use client";

import { useToolRun } from "@toolrun/react";
import { type Strings, ToolRunChat } from "@toolrun/react/ui";
import { type ReactNode, useState } from "react";
import type { LabAgent } from "../../lib/lab.ts";
import { drawText } from "../components/draw-text.tsx";
import styles from "./lab.module.css";
import type { LabScenario } from "./scenarios.ts";
import { TimelineButton } from "./timeline-button.tsx";

export interface LiveProps {
  readonly scenario: LabScenario;
  readonly initialThreadId: string | undefined;
  readonly userId: string | undefined;
  readonly strings: Partial<Strings> | undefined;
}

/** One scenario, for real: a run on the server, a script for a model. */
export function Live({ scenario, initialThreadId, userId, strings }: LiveProps): ReactNode {
  const [threadId, setThreadId] = useState(initialThreadId);
  const run = useToolRun<LabAgent>({
    endpoint: scenario.endpoint ?? "/api/toolrun-lab",
    threadId,
    onThread(id) {
      setThreadId(id);
      const address = new URL(window.location.href);
      address.searchParams.set("thread", id);
      window.history.replaceState(null, "", address);
    },
    tools: {
      whereAmI: async ({ precise }, { signal }) => ({ timeZone: timeZone(), ...(precise ? await locate(signal) : {}) }),
    },
  });
  return (
    <ToolRunChat<LabAgent>
      run={run}
      user={userId === undefined ? undefined : { id: userId }}
      suggestions={[scenario.message]}
      renderText={drawText}
      strings={{ ...strings, emptyTitle: scenario.message, emptyText: scenario.about }}
      title={
        <div className={styles.title}>
          <h2>A script plays the model; everything else is real.</h2>
          <TimelineButton run={run} strings={strings} />
        </div>
      }
    />
  );
}

function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Asks the browser, which asks the person. */
function locate(signal: AbortSignal): Promise<{ readonly latitude: number; readonly longitude: number }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) => resolve({ latitude, longitude }),
      reject,
    );
  });
}
