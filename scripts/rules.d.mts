/** A row of docs/rules.md. */
export interface Rule {
  readonly id: string;
  readonly cases: number;
  readonly demand: string;
  readonly status: string;
  readonly exempt: boolean;
}

/** A test that names rows. */
export interface Title {
  readonly file: string;
  readonly tags: readonly string[];
  readonly title: string;
}

export function readRules(markdown: string): readonly Rule[];
export function readTitles(root: string): readonly Title[];
export function titlesOfList(
  root: string,
  list: readonly { readonly name: string; readonly file: string }[],
): readonly Title[];
export function checkRules(
  rules: readonly Rule[],
  titles: readonly Title[],
  options?: { readonly exact?: boolean },
): { readonly tests: ReadonlyMap<string, readonly Title[]>; readonly problems: readonly string[] };
