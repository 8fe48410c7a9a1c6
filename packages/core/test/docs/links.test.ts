import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { codeBlocks, docPaths, prose, read, root } from "./read-docs.ts";

/** What a page points at that is not there: files, headings, and paths in code spans. */
function deadEnds(path: string, markdown: string): string[] {
  const text = prose(markdown);
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? "");
  const spans = [...text.matchAll(/`((?:packages|apps|scripts|docs|bench)\/[\w./[\]-]+)`/g)].map(
    ([, span]) => span ?? "",
  );
  const dead = links.filter((target) => !/^https?:/.test(target) && !isThere(path, markdown, target));
  return [...dead, ...spans.filter((span) => !existsSync(join(root, span)))];
}

function isThere(path: string, markdown: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const at = file === "" ? path : join(dirname(path), file);
  if (!existsSync(join(root, at))) return false;
  if (anchor === undefined) return true;
  return headings(file === "" ? markdown : read(at)).includes(anchor);
}

/** Headings as GitHub makes anchors of them. */
function headings(markdown: string): string[] {
  return [...prose(markdown).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test.each(docPaths())("every link and path of %s leads somewhere", (path) => {
  expect(deadEnds(path, read(path))).toEqual([]);
});

test("a dead link, heading and path are found", () => {
  const page = "[a](nowhere.md) [b](#nothing) [c](#here) `packages/core/src/nothing.ts`\n# Here\n";
  expect(deadEnds("docs/start.md", page)).toEqual(["nowhere.md", "#nothing", "packages/core/src/nothing.ts"]);
});

test.each(docPaths())("%s names no path of one machine and no registry", (path) => {
  expect(read(path)).not.toMatch(/\/(?:home|root|Users|work|tmp)\/|registry\.|:4873/);
});

test.each([
  ["README.md", 120],
  ["CONTRIBUTING.md", 90],
])("%s has at most %i lines", (path, most) => {
  expect(read(path).trimEnd().split("\n").length).toBeLessThanOrEqual(most);
});

test("an own UI takes at most 40 lines", () => {
  const own = codeBlocks(read("docs/react.md")).find(({ text }) => text.startsWith("// app/chat.tsx"));
  expect(own?.text.split("\n").length).toBeLessThanOrEqual(40);
});
