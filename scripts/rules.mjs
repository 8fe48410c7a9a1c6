// docs/rules.md and the tests that name its rows.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const TAG = String.raw`(?:#\d+|[A-Z]-\d+|[A-Z](?:\d\d?|\+))`;
/** One or more groups, each in brackets with a space behind. */
const TAGS = String.raw`((?:\[${TAG}(?: ${TAG})*\] )+)`;
const ROW = new RegExp(String.raw`^\| (${TAG}) \|`);
/** A title is a string literal that begins with tags: an argument of `test`, or a cell of its table. */
const TITLE = new RegExp(String.raw`(\.(?:skip|todo)\()?(["'\x60])${TAGS}((?:\\.|(?!\2).)*)\2`, "g");
const IN_NAME = new RegExp(`(?:^| > )${TAGS}`, "g");
const CASE = /^case (\d+) of (\d+)\b/;

/** The rows of docs/rules.md. */
export function readRules(markdown) {
  return markdown.split("\n").flatMap((line) => {
    if (!ROW.test(line)) return [];
    const cells = line.slice(2, -2).split(" | ");
    const id = cells[0];
    const cases = cells.length === 4 ? Number(cells[1]) : 1;
    const status = cells.at(-1);
    return [{ id, cases, demand: cells.at(-2), status, exempt: /^(not ours because|later:) ./.test(status) }];
  });
}

/** Every tagged title in the sources of the tests, also those of the browser tests. */
export function readTitles(root) {
  const folders = ["packages", "apps/demo/e2e", "apps/demo/test"].map((folder) => join(root, folder));
  return folders.flatMap(testFiles).flatMap((path) => {
    const file = relative(root, path);
    return [...readFileSync(path, "utf8").matchAll(TITLE)].flatMap(([, left, , tags, title]) =>
      left ? [] : [{ file, tags: tagsIn(tags), title }],
    );
  });
}

function tagsIn(text) {
  return text.match(new RegExp(TAG, "g")) ?? [];
}

function testFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(node_modules|dist|\.next.*)$/.test(entry.name) ? [] : testFiles(path);
    return /\.(test|spec)\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** The tagged tests among the names that `vitest list --json` gives: a group's tags hold for its tests, after their own. */
export function titlesOfList(root, list) {
  return list.flatMap(({ name, file }) => {
    const found = [...name.matchAll(IN_NAME)];
    const last = found.at(-1);
    if (!last) return [];
    const tags = [...new Set(found.toReversed().flatMap(([, tags]) => tagsIn(tags)))];
    return [{ file: relative(root, file), tags, title: name.slice(last.index + last[0].length) }];
  });
}

/** The tests of each row, and whatever is wrong; `exact` also counts, for which the titles must be those of real tests. */
export function checkRules(rules, titles, { exact = false } = {}) {
  const problems = [];
  const tests = new Map(rules.map(({ id }) => [id, []]));
  if (tests.size < rules.length) problems.push("A row is there twice.");
  for (const title of titles) {
    for (const tag of title.tags) {
      if (tests.has(tag)) tests.get(tag).push(title);
      else problems.push(`[${tag}] names no row: "${title.title}" in ${title.file}`);
    }
  }
  for (const { id, cases, status, exempt } of rules) {
    const found = tests.get(id);
    if (!exempt && !/^(as is|restated: .+)$/.test(status)) problems.push(`${id} has the status "${status}".`);
    if (exempt) continue;
    if (found.length === 0) problems.push(`${id} has no test and no reason for that.`);
    else if (exact && found.length < cases) problems.push(`${id} has ${found.length} of ${cases} tests.`);
    problems.push(...missingCases(id, cases, found));
  }
  return { tests, problems };
}

/** Where titles of a row count its cases, all of them have to be there. */
function missingCases(id, cases, titles) {
  const counted = titles.flatMap(({ title, tags }) => {
    const match = tags[0] === id && title.match(CASE);
    return match ? [match] : [];
  });
  if (counted.length === 0) return [];
  const wrong = counted
    .filter(([, , of]) => Number(of) !== cases)
    .map(([text]) => `${id}: "${text}", not of ${cases}.`);
  const missing = Array.from({ length: cases }, (_, index) => index + 1)
    .filter((number) => !counted.some(([, each]) => Number(each) === number))
    .map((number) => `${id} lacks case ${number} of ${cases}.`);
  return [...wrong, ...missing];
}
