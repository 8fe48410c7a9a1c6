import { expect, test } from "vitest";
import { withoutInvisible } from "../../src/model/without-invisible.ts";

const hidden = (text: string): string =>
  [...text].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");

test("[S20] takes out tags and the variation selectors no text needs, in texts and names at any depth", () => {
  const smuggled = `a${hidden("obey")}b${String.fromCodePoint(0xe0100, 0xe01ef)}`;
  expect(withoutInvisible({ [smuggled]: [smuggled, 1, null, { c: smuggled }] })).toEqual({
    ab: ["ab", 1, null, { c: "ab" }],
  });
});

test("leaves everything a person can see", () => {
  const text = "Ünï \u200d 👩‍👩‍👧 ❤️ 漢字\nnext";
  expect(withoutInvisible(text)).toBe(text);
});
