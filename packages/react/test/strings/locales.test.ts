import { describe, expect, test } from "vitest";
import { ar } from "../../src/strings/ar.ts";
import { de } from "../../src/strings/de.ts";
import { pseudo } from "../../src/strings/pseudo.ts";
import { en, type Strings } from "../../src/strings.ts";

const minute = 60_000;
const names = Object.keys(en) as (keyof Strings)[]; // its own keys, all of them

const bad = /^$|undefined|NaN|Invalid|#|\[object/;
const samples = [
  ["x"],
  [["x"]],
  [["x", "y"]],
  [0],
  [1],
  [2],
  [3],
  [11],
  [100],
  [1, 2],
  [2, 1],
  [2, 3],
  [0, "x"],
  [2, "x"],
];
const people = [[null], ["x", "y"], ["x", null], [null, "x"], [null, 1], ["x", 0], ["x", 2], ["x", undefined]];

/** Everything that a language says by a name, with whatever English can be given there. */
function said(strings: Strings, name: keyof Strings): readonly string[] {
  const word: unknown = strings[name];
  if (typeof word === "string") return [word];
  if (typeof word === "object") return Object.values(word as object).map(String);
  return [...samples, ...people].flatMap((given) => {
    const say = (by: Strings): string => (by[name] as (...given: readonly unknown[]) => string)(...given); // no word and no object of words: a function
    try {
      const text = say(strings);
      const isWrong = given.some((each) => typeof each !== "number") && text.includes("NaN"); // a number is what it takes
      return bad.test(say(en)) || isWrong ? [] : [text];
    } catch {
      return []; // not what it takes
    }
  });
}

describe.each([
  ["de", de, /[a-zäöüß]/i],
  ["ar", ar, /[\u0600-\u06ff]/],
])("%s", (_, strings, script) => {
  test("has the words that English has, each of the same kind", () => {
    expect(Object.keys(strings).toSorted()).toEqual(names.toSorted());
    for (const name of names) expect(typeof strings[name], name).toBe(typeof en[name]);
    for (const name of ["notRun", "errors", "limits", "runCodes"] as const) {
      expect(Object.keys(strings[name])).toEqual(Object.keys(en[name]));
    }
  });

  test("says nothing that is empty, undefined or left to fill in", () => {
    for (const name of names) {
      const all = said(strings, name);
      expect(all.length, name).toBeGreaterThan(0);
      for (const text of all) expect(text, name).not.toMatch(bad);
    }
  });

  test("is in its own script, wherever English is in words", () => {
    const same = names.filter((name) => {
      const text = strings[name];
      return typeof text === "string" && (text === en[name] || !script.test(text));
    });
    expect(same.filter((name) => !["jsonField", "optional"].includes(name))).toEqual([]);
  });
});

describe("German", () => {
  test("counts", () => {
    expect([0, 1, 2, 1234].map(de.pending)).toEqual([
      "0 Schritte warten auf Sie",
      "1 Schritt wartet auf Sie",
      "2 Schritte warten auf Sie",
      "1.234 Schritte warten auf Sie",
    ]);
    expect(de.used(1, 3)).toBe("1 von 3-mal genutzt");
  });

  test("writes times and numbers its way", () => {
    expect([320, 14_000, 125_000, 2 * 60 * minute].map(de.span)).toEqual(["0,3 s", "14 s", "2 min 5 s", "2 h 0 min"]);
    expect([90_000, 10 * minute, 24 * 60 * minute, 7 * 24 * 60 * minute].map(de.period)).toEqual([
      "90 s",
      "10 min",
      "24 h",
      "7 Tage",
    ]);
    expect(de.time(new Date(2020, 4, 4, 12, 3).getTime())).toMatch(/^4\. Mai.*12:03$/);
  });
});

describe("Arabic", () => {
  test("has a form for each of its six plurals", () => {
    expect([0, 1, 2, 3, 11, 100].map(ar.steps)).toEqual([
      "لا خطوات",
      "خطوة واحدة",
      "خطوتان",
      "3 خطوات",
      "11 خطوة",
      "100 خطوة",
    ]);
    expect(new Set([0, 1, 2, 3, 11, 100].map(ar.grants)).size).toBe(6);
  });

  test("writes digits as the conversation does", () => {
    const texts = names.flatMap((name) => said(ar, name));
    expect(texts.filter((text) => /[\u0660-\u0669]/.test(text))).toEqual([]);
    expect(ar.span(125_000)).toBe("2 د 5 ث");
  });
});

describe("the pseudo-locale", () => {
  test("puts every word in brackets, and keeps what it is given", () => {
    for (const name of names) for (const text of said(pseudo, name)) expect(text, name).toMatch(/^⟦.*⟧$/s);
    expect(pseudo.send).toBe("⟦Šéñđ··⟧");
    expect(pseudo.denyReasons).toHaveLength(en.denyReasons.length);
    expect(pseudo.showAll(1234)).toContain("1,234");
  });
});
