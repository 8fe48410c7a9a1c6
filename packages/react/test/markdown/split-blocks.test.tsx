// @vitest-environment node
import fc from "fast-check";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { expect, test } from "vitest";
import { splitBlocks } from "../../src/markdown/split-blocks.ts";
import { blocks } from "./drawn.tsx";

const plain = (text: string): string => {
  const html = renderToStaticMarkup(<ReactMarkdown remarkPlugins={[remarkGfm]}>{text}</ReactMarkdown>);
  return html.replace(/<link [^>]*>|[ \r\n]+/g, ""); // neither says anything about blocks
};
const joined = (text: string): string => splitBlocks(text).map(plain).join("");

test.each(blocks.map((block) => [block]))("%j means the same in blocks", (block) => {
  expect(joined(block)).toBe(plain(block));
});

test("any blocks after each other mean the same, cut and whole", () => {
  const some = fc.array(fc.constantFrom(...blocks), { minLength: 1, maxLength: 6 });
  const gaps = fc.constantFrom("\n\n", "\n\n\n", "\r\n\r\n", "\n \n");
  fc.assert(
    fc.property(some, gaps, (parts, gap) => {
      const text = parts.join(gap);
      expect(joined(text)).toBe(plain(text));
    }),
    { numRuns: 60 },
  );
});

test("lines that mean something, in any order, mean the same cut and whole", () => {
  const line = fc.constantFrom(
    "a",
    "",
    "",
    "- b",
    "  c",
    "1. d",
    "> e",
    "```",
    "~~~",
    "# f",
    "    g",
    "<!-- h",
    "-->",
    "---",
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 14 }), (lines) => {
      const text = lines.join("\n");
      expect(joined(text)).toBe(plain(text));
    }),
    { numRuns: 250 },
  );
});

test("paragraphs, lists, code and tables are blocks of their own", () => {
  const parts = [blocks[0], blocks[5], blocks[9], blocks[12]];
  expect(splitBlocks(parts.join("\n\n"))).toHaveLength(4);
});

test("a text with definitions is one block: they reach into all others", () => {
  const text = "See [the docs][d] and a note[^1].\n\nMore.\n\n[d]: https://docs.example\n\n[^1]: Small print.";
  expect(splitBlocks(text)).toEqual([text]);
  expect(splitBlocks("```ts\n[key]: string\n```\n\nMore.")).toHaveLength(2);
});

test("a text of 100,000 characters is cut in one pass", () => {
  const text = `${blocks.join("\n\n")}\n\n`.repeat(120);
  expect(text.length).toBeGreaterThan(100_000);
  expect(splitBlocks(text).length).toBeGreaterThan(1_000);
  expect(splitBlocks("`".repeat(100_000))).toHaveLength(1);
});
