"use client";

import { ToolRunChat } from "@toolrun/react/ui";
import Link from "next/link";
import { type ReactNode, useMemo } from "react";
import type { TypedAgent } from "toolrun";
import styles from "./lab.module.css";
import { states } from "./states.ts";

/** One state with a list of the others beside it. */
export function Lab({ name }: { readonly name: string }): ReactNode {
  const run = useMemo(() => (Object.hasOwn(states, name) ? states[name]?.() : undefined), [name]);
  return (
    <div className={styles.lab}>
      <nav className={styles.picker} aria-label="States">
        <h1>Lab</h1>
        <ul>
          {Object.keys(states).map((state) => (
            <li key={state}>
              <Link href={`/lab?state=${state}`} aria-current={state === name ? "page" : undefined}>
                {state}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main className={styles.stage}>
        {run ? (
          <ToolRunChat<TypedAgent>
            run={run}
            user={{ id: "lab" }}
            suggestions={["Refund order 1042", "Tidy up old orders", "Import 200 orders"]}
          />
        ) : (
          <p>There is no state named “{name}”.</p>
        )}
      </main>
    </div>
  );
}
