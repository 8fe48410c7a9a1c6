import type { ReactNode } from "react";

const paths = {
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  block: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M4.5 11.5l7-7",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3",
  ask: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11M8 5.2v3.4M8 10.8v.1",
  warn: "M8 2.6l6 10.6H2zM8 6.4v3.2M8 11.4v.1",
  pen: "M10.8 3.2l2 2-7 7-2.6.6.6-2.6zM9.4 4.6l2 2",
  chevron: "M6 4.5L9.5 8 6 11.5",
  down: "M8 3.5v9M4.5 9L8 12.5 11.5 9",
  up: "M8 12.5v-9M4.5 7L8 3.5 11.5 7",
  stop: "M4.5 4.5h7v7h-7z",
  out: "M9 3.5h3.5V7M12.5 3.5L7.5 8.5M6.5 4.5h-3v8h8v-3",
  undo: "M5.5 3L3 5.5 5.5 8M3 5.5h6a3.5 3.5 0 0 1 0 7H6",
  spin: "M8 2.5a5.5 5.5 0 1 0 5.5 5.5",
} as const;

export type IconName = keyof typeof paths;

/** An outline in a 16 × 16 box in the colour of the text. Never the only sign of anything: a word stands beside it. */
export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="tr-icon" data-icon={name} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
