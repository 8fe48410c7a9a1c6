import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkRules, readRules, readTitles, titlesOfList } from "./rules.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

describe("docs/rules.md", () => {
  const rules = readRules(readFileSync(join(root, "docs/rules.md"), "utf8"));

  it("has every rule and every scenario once", () => {
    const ids = rules.map(({ id }) => id);
    const scenarios = Array.from({ length: 121 }, (_, index) => `#${index + 1}`);
    const merged = Array.from({ length: 50 }, (_, index) => `M-${index + 1}`);
    expect(ids.filter((id) => id.startsWith("#"))).toEqual(scenarios);
    expect(ids.filter((id) => id.startsWith("M-"))).toEqual(merged);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("has a test or a reason for every row, and no test names a row that is not there", () => {
    expect(checkRules(rules, readTitles(root)).problems).toEqual([]);
  });
});

describe("the check of rows and tests", () => {
  const rules = readRules(
    [
      "| #1 | 2 | Two cases. | as is |",
      "| M-1 | A rule. | restated: so |",
      "| L04 | A row. | not ours because so |",
    ].join("\n"),
  );
  const title = (tags: string, text: string) => ({ file: "a.test.ts", tags: tags.split(" "), title: text });
  const both = [title("#1 M-1", "case 1 of 2: a"), title("#1", "case 2 of 2: b")];

  it("is content when every row has its tests", () => {
    expect(checkRules(rules, both, { exact: true }).problems).toEqual([]);
  });

  it.each([
    ["a row without a test", [title("M-1", "a")], "#1 has no test"],
    ["a tag without a row", [...both, title("M-9", "a")], "[M-9] names no row"],
    ["a missing case", [title("#1 M-1", "case 1 of 2: a")], "#1 lacks case 2 of 2"],
    ["cases that were counted for another number", [...both, title("#1", "case 3 of 3: c")], "not of 2"],
    ["fewer tests than cases", [title("#1 M-1", "a")], "#1 has 1 of 2 tests"],
  ])("names %s", (_title, titles, words) => {
    expect(checkRules(rules, titles, { exact: true }).problems.join("\n")).toContain(words);
  });

  it("names a status that is none", () => {
    const [rule] = readRules("| M-2 | A rule. | perhaps |");
    if (!rule) throw new Error("the row was not read");
    expect(checkRules([rule], [title("M-2", "a")]).problems).toEqual(['M-2 has the status "perhaps".']);
  });

  it("reads the tags of groups for their tests", () => {
    const list = [{ name: "[M-7 #1] limits > [L04] [L05] case 1 of 2: a > b", file: "/r/x.test.ts" }];
    expect(titlesOfList("/r", list)).toEqual([
      { file: "x.test.ts", tags: ["L04", "L05", "M-7", "#1"], title: "case 1 of 2: a > b" },
    ]);
  });
});
