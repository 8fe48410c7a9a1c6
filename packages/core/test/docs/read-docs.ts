import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository's root, with a slash at its end. */
export const root: string = fileURLToPath(new URL("../../../../", import.meta.url));

/** Every page that people read, by its path from the root. */
export function docPaths(): string[] {
  const top = readdirSync(root).filter((name) => /^[A-Z]+\.md$/.test(name) && name !== "CHANGELOG.md");
  const docs = readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  const packages = ["core", "react"].map((name) => `packages/${name}/README.md`);
  return [...top, ...docs.map((name) => `docs/${name.replaceAll("\\", "/")}`), ...packages].sort();
}

/** A file's text, by its path from the root. */
export function read(path: string): string {
  return readFileSync(root + path, "utf8");
}

export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  /** Line of its first line of code, from 1. */
  readonly line: number;
}

/** The fenced blocks of a page. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^```(\S*)/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (!open) open = { language: fence[1] ?? "", line: index + 2, lines: [] };
    else {
      blocks.push({ language: open.language, line: open.line, text: open.lines.join("\n") });
      open = undefined;
    }
  }
  if (open) throw new Error(`The block at line ${open.line} is not closed.`);
  return blocks;
}

/** A page without its fenced blocks. */
export function prose(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, "");
}

/** The part of a page under one heading, up to the next of the same or a higher level. */
export function section(markdown: string, heading: string): string {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start < 0) throw new Error(`There is no heading "${heading}".`);
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 1;
  const length = lines.slice(start + 1).findIndex((line) => (/^#+(?= )/.exec(line)?.[0].length ?? 99) <= level);
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join("\n");
}

/** The cells of every table row in a text, without heads and rulers. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split("\n");
  const isRow = (line: string | undefined): boolean => line?.startsWith("|") ?? false;
  return lines
    .filter(
      (line, index) => isRow(line) && !/^\|[ :|-]+\|$/.test(line) && !/^\|[ :|-]+\|$/.test(lines[index + 1] ?? ""),
    )
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** The code spans of a text. */
export function codeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");
}
