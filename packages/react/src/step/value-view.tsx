"use client";

import { type ReactNode, useState } from "react";
import type { Json } from "toolrun";
import { useStepContext } from "./step-context.ts";
import { VisibleText } from "./visible-text.tsx";

const maxCharacters = 400;
const maxLines = 6;
const maxItems = 20;
const maxColumns = 6;

export interface ValueViewProps {
  readonly value: Json;
  /** How deep this value lies; from 2 on, lists and objects are folded. */
  readonly depth?: number | undefined;
}

/** Any JSON as a person reads it: text, key list, table, or a tree. Empty values are shown, never left out. */
export function ValueView({ value, depth = 0 }: ValueViewProps): ReactNode {
  const { strings } = useStepContext();
  if (typeof value === "string") {
    return value === "" ? <Empty>{strings.emptyString}</Empty> : <LongText text={value} />;
  }
  if (value === null || typeof value !== "object") return <code className="tr-scalar">{String(value)}</code>;
  if (!isRecord(value)) return <ListView items={value} depth={depth} />;
  return (
    <Folded depth={depth} label={`{ ${Object.keys(value).length} }`} inner={<KeyList value={value} depth={depth} />} />
  );
}

function Empty({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className="tr-empty">{children}</span>;
}

/** Keys and values in their order. `titles` replaces names of keys where a schema knows better ones. */
export function KeyList(props: {
  readonly value: Readonly<Record<string, Json>>;
  readonly titles?: ReadonlyMap<string, string> | undefined;
  readonly depth?: number | undefined;
}): ReactNode {
  const { strings } = useStepContext();
  const { value, titles, depth = 0 } = props;
  const keys = Object.keys(value);
  if (keys.length === 0) return <Empty>{strings.emptyObject}</Empty>;
  return (
    <dl className="tr-keys">
      {keys.map((key) => (
        <div key={key} className="tr-key">
          <dt>
            <VisibleText text={titles?.get(key) ?? key} />
          </dt>
          <dd>
            <ValueView value={value[key] ?? null} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function ListView({ items, depth }: { readonly items: readonly Json[]; readonly depth: number }): ReactNode {
  const { strings } = useStepContext();
  const [all, setAll] = useState(false);
  if (items.length === 0) return <Empty>{strings.emptyList}</Empty>;
  const shown = all ? items : items.slice(0, maxItems);
  const columns = columnsOf(items);
  const list = columns ? (
    <TableView rows={shown} columns={columns} />
  ) : (
    <ul className="tr-values">
      {shown.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items of a value have no identity but their place.
        <li key={index}>
          <ValueView value={item} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
  const rest = items.length - shown.length;
  const inner = (
    <>
      {list}
      {rest > 0 ? (
        <button type="button" className="tr-link" onClick={() => setAll(true)}>
          {strings.moreItems(rest)}
        </button>
      ) : null}
    </>
  );
  return <Folded depth={depth} label={`[ ${items.length} ]`} inner={inner} />;
}

function TableView(props: { readonly rows: readonly Json[]; readonly columns: readonly string[] }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section className="tr-table" tabIndex={0} aria-label={props.columns.join(", ")}>
      <table>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th key={column} scope="col">
                <VisibleText text={column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a value have no identity but their place.
            <tr key={index}>
              {props.columns.map((column) => (
                <td key={column}>
                  {isRecord(row) && column in row ? <ValueView value={row[column] ?? null} depth={2} /> : null}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The columns of a list of flat objects, if it is one. */
function columnsOf(items: readonly Json[]): readonly string[] | undefined {
  if (!items.every((item) => isRecord(item) && Object.values(item).every(isScalar))) return undefined;
  const columns = [...new Set(items.flatMap((item) => (isRecord(item) ? Object.keys(item) : [])))];
  return columns.length > 0 && columns.length <= maxColumns ? columns : undefined;
}

function Folded(props: { readonly depth: number; readonly label: string; readonly inner: ReactNode }): ReactNode {
  if (props.depth < 2) return props.inner;
  return (
    <details className="tr-fold">
      <summary>{props.label}</summary>
      {props.inner}
    </details>
  );
}

function LongText({ text }: { readonly text: string }): ReactNode {
  const { strings } = useStepContext();
  const [all, setAll] = useState(false);
  const short = clip(text);
  return (
    <span className="tr-text" dir="auto">
      <VisibleText text={all ? text : short} />
      {short === text ? null : (
        <>
          {all ? " " : "… "}
          <button type="button" className="tr-link" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? strings.showLess : strings.showAll(text.length)}
          </button>
        </>
      )}
    </span>
  );
}

function clip(text: string): string {
  const lines = text.split("\n", maxLines + 1);
  const few = lines.length > maxLines ? lines.slice(0, maxLines).join("\n") : text;
  if (few.length <= maxCharacters) return few;
  // Not between the halves of a surrogate pair: half of one would be shown as a hidden character.
  const end = /[\uD800-\uDBFF]/.test(few.charAt(maxCharacters - 1)) ? maxCharacters - 1 : maxCharacters;
  return few.slice(0, end);
}

/** True for a JSON object. */
export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: Json): boolean {
  return value === null || typeof value !== "object";
}
