export type { MarkdownProps } from "./markdown/markdown.tsx";
export { Markdown } from "./markdown/markdown.tsx";
export type { MarkdownCode, MarkdownOptions } from "./markdown/options.ts";
