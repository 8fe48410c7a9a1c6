"use client";

import { ar } from "@toolrun/react/strings/ar";
import { de } from "@toolrun/react/strings/de";
import { pseudo } from "@toolrun/react/strings/pseudo";
import { en, type Strings, ToolRunChat } from "@toolrun/react/ui";
import Link from "next/link";
import { type ReactNode, useMemo } from "react";
import type { TypedAgent } from "toolrun";
import { drawText } from "../components/draw-text.tsx";
import styles from "./lab.module.css";
import { Live } from "./live.tsx";
import { type LabScenario, scenarios } from "./scenarios.ts";
import { states } from "./states.ts";
import { TimelineButton } from "./timeline-button.tsx";

const languages: Readonly<Record<string, Strings>> = { en, de, ar, pseudo };

export interface LabProps {
  /** The state to show, where no scenario is asked for. */
  readonly name: string;
  readonly scenario: string | undefined;
  readonly threadId: string | undefined;
  readonly userId: string | undefined;
  readonly lang: string;
}

/** One scenario or state, with a list of the others beside it. */
export function Lab({ name, scenario, threadId, userId, lang }: LabProps): ReactNode {
  const live = scenario === undefined ? undefined : scenarioOf(scenario);
  const strings = languages[lang];
  return (
    <div className={styles.lab}>
      <nav className={styles.picker} aria-label="Lab">
        <h1>Lab</h1>
        <Names
          title="Languages"
          names={Object.keys(languages)}
          current={lang}
          toQuery={(lang) => (scenario === undefined ? { state: name, lang } : { scenario, lang })}
        />
        <Names
          title="Scenarios"
          names={Object.keys(scenarios)}
          current={scenario}
          toQuery={(scenario) => ({ scenario, lang })}
        />
        <Names
          title="States"
          names={Object.keys(states)}
          current={live ? undefined : name}
          toQuery={(state) => ({ state, lang })}
        />
      </nav>
      <main className={styles.stage} lang={lang === "pseudo" ? "en" : lang} dir={lang === "ar" ? "rtl" : "ltr"}>
        {live ? (
          <Live scenario={live} initialThreadId={threadId} userId={userId} strings={strings} />
        ) : (
          <Still name={name} strings={strings} />
        )}
      </main>
    </div>
  );
}

function scenarioOf(name: string): LabScenario | undefined {
  return Object.hasOwn(scenarios, name) ? scenarios[name] : undefined;
}

interface NamesProps {
  readonly title: string;
  readonly names: readonly string[];
  readonly current: string | undefined;
  readonly toQuery: (name: string) => Readonly<Record<string, string>>;
}

function Names({ title, names, current, toQuery }: NamesProps): ReactNode {
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <Link
              href={{ pathname: "/lab", query: toQuery(name) }}
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
function Still({ name, strings }: { readonly name: string; readonly strings: Strings | undefined }): ReactNode {
  const run = useMemo(() => (Object.hasOwn(states, name) ? states[name]?.() : undefined), [name]);
  if (!run) return <p>There is no state named “{name}”.</p>;
  return (
    <ToolRunChat<TypedAgent>
      run={run}
      user={{ id: "lab" }}
      suggestions={["Refund order 1042", "Tidy up old orders", "Import 200 orders"]}
      renderText={drawText}
      strings={strings}
      title={run.turns.length > 0 ? <TimelineButton run={run} strings={strings} /> : undefined}
    />
  );
}
