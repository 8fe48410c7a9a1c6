import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { codeBlocks, read, root, section } from "./read-docs.ts";

const page: string = section(read("docs/architecture.md"), "2. The tree");

/** The paths that a tree of two spaces a level names; each line has a name and what it is for. */
function pathsOf(tree: string): string[] {
  const paths: string[] = [];
  const folders: string[] = [];
  for (const line of tree.split("\n")) {
    const [, spaces = "", name = "", about] = /^( *)(\S+)(?:\s+(\S.*))?$/.exec(line) ?? [];
    if (name === "") continue;
    folders.length = spaces.length / 2;
    const path = [...folders, name.replace(/\/$/, "")].join("/");
    if (name.endsWith("/")) folders.push(name.slice(0, -1));
    else if (about === undefined) throw new Error(`${path} has no word about what it is for.`);
    else paths.push(path);
  }
  return paths;
}

function named(markdown: string): string[] {
  return codeBlocks(markdown).flatMap(({ text }) => pathsOf(text));
}

function there(): string[] {
  return ["core", "react"].flatMap((name) => {
    const folder = `packages/${name}/src`;
    const entries = readdirSync(root + folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath.replaceAll("\\", "/").slice(root.length)}/${entry.name}`);
  });
}

test("the tree names every file of both packages once, and no other", () => {
  expect(named(page).toSorted()).toEqual(there().toSorted());
});

test("a file that is left out, named twice or invented is found", () => {
  const tree =
    "```\npackages/core/src/\n  index.ts  the entry\n  loop/\n    gone.ts  was here once\n  index.ts  again\n```\n";
  expect(named(tree)).toEqual([
    "packages/core/src/index.ts",
    "packages/core/src/loop/gone.ts",
    "packages/core/src/index.ts",
  ]);
  expect(() => named("```\npackages/\n  bare.ts\n```\n")).toThrow("no word");
});

test("every function that the two walks name exists in the file they name", () => {
  const walks = [
    section(read("docs/architecture.md"), "3. One event, end to end"),
    section(read("docs/architecture.md"), "4. One decision, end to end"),
  ];
  const lines = walks.flatMap((walk) => walk.split("\n").filter((line) => /^\d+\. /.test(line)));
  expect(lines.length).toBeGreaterThan(20);
  const steps = lines.map((line) => /^\d+\. `([\w/.-]+)` .*?((?:`\w+`(?:, )?)+)\.$/.exec(line) ?? [line]);
  const missing = steps.flatMap(([line = "", file, names = ""]) => {
    if (file === undefined) return `names no function: ${line}`;
    const source = read(`packages/${file}`);
    return [...names.matchAll(/`(\w+)`/g)]
      .filter(([, name]) => !new RegExp(`\\b${name}\\b`).test(source))
      .map(([, name]) => `${file}: ${name}`);
  });
  expect(missing).toEqual([]);
});
