"use client";

import { ToolRunChat } from "@toolrun/react/ui";
import Link from "next/link";
import { type ReactNode, useMemo } from "react";
import type { TypedAgent } from "toolrun";
import styles from "./lab.module.css";
import { Live } from "./live.tsx";
import { type LabScenario, scenarios } from "./scenarios.ts";
import { states } from "./states.ts";

export interface LabProps {
  /** The state to show, where no scenario is asked for. */
  readonly name: string;
  readonly scenario: string | undefined;
  readonly threadId: string | undefined;
  readonly userId: string | undefined;
}

/** One scenario or state, with a list of the others beside it. */
export function Lab({ name, scenario, threadId, userId }: LabProps): ReactNode {
  const live = scenario === undefined ? undefined : scenarioOf(scenario);
  return (
    <div className={styles.lab}>
      <nav className={styles.picker} aria-label="Lab">
        <h1>Lab</h1>
        <Names title="Scenarios" of="scenario" names={Object.keys(scenarios)} current={scenario} />
        <Names title="States" of="state" names={Object.keys(states)} current={live ? undefined : name} />
      </nav>
      <main className={styles.stage}>
        {live ? <Live scenario={live} initialThreadId={threadId} userId={userId} /> : <Still name={name} />}
      </main>
    </div>
  );
}

function scenarioOf(name: string): LabScenario | undefined {
  return Object.hasOwn(scenarios, name) ? scenarios[name] : undefined;
}

interface NamesProps {
  readonly title: string;
  /** What the address calls it. */
  readonly of: "scenario" | "state";
  readonly names: readonly string[];
  readonly current: string | undefined;
}

function Names({ title, of, names, current }: NamesProps): ReactNode {
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <Link
              href={`/lab?${of}=${encodeURIComponent(name)}`}
              prefetch={false}
              aria-current={name === current ? "page" : undefined}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A state made of canned data: its buttons change nothing. */
function Still({ name }: { readonly name: string }): ReactNode {
  const run = useMemo(() => (Object.hasOwn(states, name) ? states[name]?.() : undefined), [name]);
  if (!run) return <p>There is no state named “{name}”.</p>;
  return (
    <ToolRunChat<TypedAgent>
      run={run}
      user={{ id: "lab" }}
      suggestions={["Refund order 1042", "Tidy up old orders", "Import 200 orders"]}
    />
  );
}
