import { type RenderResult, render } from "@testing-library/react";
import { Markdown, type MarkdownProps } from "../../src/markdown.ts";

/** A text, drawn at once. */
export function drawn(text: string, props: Omit<MarkdownProps, "text"> = {}): RenderResult {
  return render(<Markdown text={text} {...props} />);
}

/** What a text becomes, without the element around it. */
export function htmlOf(text: string, props: Omit<MarkdownProps, "text"> = {}): string {
  const { container, unmount } = drawn(text, props);
  const html = container.firstElementChild?.innerHTML ?? "";
  unmount();
  return html;
}

/** Everything models write: each is a block, or several. */
export const blocks: readonly string[] = [
  "A paragraph with *stress*, **more of it**, `code`, ~~nothing~~ and a [link](https://shop.example/a_(b)?c=d).",
  "Two lines\nof one paragraph\\\nand a break.",
  "# Title",
  "Underlined\n---",
  "> A quote\n> of two lines\n>\n> - with a list",
  "- one\n- two\n  - nested\n\n    with a paragraph\n- three",
  "1. first\n\n   ```ts\n   const a = 1;\n\n   a;\n   ```\n\n2. second",
  "- ```\n  fenced in an item\n\n  on\n  ```",
  "- [x] ticked\n- [ ] not",
  "```ts\nconst a: { [key: string]: number } = {};\n\n\n# no title\n- no list\n```",
  "~~~~\n```\n\n~~~\n\nstill code\n~~~~",
  "    indented code\n\n    goes on",
  "| a | b |\n| :-- | --: |\n| 1 | **2** |\n| x | y |",
  "***",
  "<div>\n<b>no HTML</b>\n</div>",
  "<!-- a comment\n\nover **lines** -->",
  "<pre>\n\n*raw*\n\n</pre>",
  "A line | with a bar\n* and a list at once\n\n  of two paragraphs",
  "![a picture](https://pictures.example/a.png)",
  "https://shop.example/orders, mia@shop.example and www.shop.example.",
  "\u00a0\n\nA space that is none.",
];
