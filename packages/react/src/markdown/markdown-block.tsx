"use client";

import { memo, type NamedExoticComponent, type ReactNode } from "react";
import ReactMarkdown, { type Components, type ExtraProps, type Options } from "react-markdown";
import remarkGfm from "remark-gfm";
import { isSafe, SafeLink } from "../step/safe-link.tsx";
import { useStepContext } from "../step/step-context.ts";
import { CodeBlock } from "./code-block.tsx";
import { Picture } from "./picture.tsx";

type Node = NonNullable<ExtraProps["node"]>;
type Child = Node["children"][number];
type Drawn = ExtraProps & { readonly children?: ReactNode };

const plugins: Options["remarkPlugins"] = [[remarkGfm, { singleTilde: false }]];

/** More levels, or more signs of emphasis, than anybody writes: parsing them takes for ever. */
const TOO_DEEP = /^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){50}/m;
const MAX_EMPHASES = 600;

function isEndless(source: string): boolean {
  return TOO_DEEP.test(source) || (source.match(/[*_~]+/g)?.length ?? 0) > MAX_EMPHASES;
}

/** One block of a text. Parsed again only when it changed. */
export const MarkdownBlock: NamedExoticComponent<{ readonly source: string }> = memo(function MarkdownBlock({
  source,
}: {
  readonly source: string;
}) {
  const { strings } = useStepContext();
  if (isEndless(source)) return <p>{source}</p>;
  return (
    <ReactMarkdown
      remarkPlugins={plugins}
      remarkRehypeOptions={{ footnoteLabel: strings.footnotes }}
      urlTransform={(url) => url} // addresses are judged where they are drawn
      components={components}
    >
      {source}
    </ReactMarkdown>
  );
});

/** Each says what it passes on: ids, styles and classes of a text stay out of the page. */
const components: Components = {
  a: Link,
  img: ({ src, alt }) => <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  pre: ({ node }) => <CodeBlock {...codeOf(node)} />,
  code: ({ children }) => (
    <code className="tr-inline-code" dir="ltr">
      {children}
    </code>
  ),
  table: Table,
  th: ({ node, children }) => <th data-align={alignOf(node)}>{children}</th>,
  td: ({ node, children }) => <td data-align={alignOf(node)}>{children}</td>,
  input: ({ checked }) => <Check checked={checked === true} />,
  li: ({ children }) => <li>{children}</li>,
  sup: ({ children }) => <sup>{children}</sup>,
  section: ({ children }) => <div className="tr-footnotes">{children}</div>,
  // A message is an h2 and its parts are below it, whatever level the model begins with.
  ...Object.fromEntries(
    [1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, ({ children }: Drawn) => <h3 data-level={level}>{children}</h3>]),
  ),
};

/** A link says where it leads, unless its text does. One around a picture comes after it: a press loads the picture. */
function Link({ node, href = "", children }: Drawn & { readonly href?: string | undefined }): ReactNode {
  if (node && "dataFootnoteBackref" in node.properties) return null;
  if (!isSafe(href)) return children;
  if (node?.children.some(isPicture)) {
    return (
      <>
        {children} <SafeLink address={href} />
      </>
    );
  }
  const target = targetOf(href);
  const text = textOf(node).trim().toLowerCase();
  const title =
    says(href) && [target, target.replace(/^www\./, ""), href.toLowerCase(), withoutScheme(href)].includes(text) ? (
      children
    ) : (
      <>
        {children}{" "}
        <bdi className="tr-host" dir="ltr">
          ({target})
        </bdi>
      </>
    );
  return <SafeLink address={href} title={title} />;
}

/** The host, as the browser will ask for it; of a mail address all of it, with what else it would fill in. */
function targetOf(href: string): string {
  const url = new URL(href);
  return url.protocol === "mailto:" ? url.pathname.toLowerCase() + url.search : url.host;
}

/** False for an address that looks like another one: with a name before the host, or more in a mail than its address. */
function says(href: string): boolean {
  const url = new URL(href);
  return url.username === "" && (url.protocol !== "mailto:" || url.search === "");
}

function withoutScheme(href: string): string {
  return href
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:)/, "")
    .replace(/\/$/, "");
}

function Table({ children }: Drawn): ReactNode {
  const { strings } = useStepContext();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className="tr-table" role="group" aria-label={strings.table} tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

/** A box of a task list: nobody can tick it. */
function Check({ checked }: { readonly checked: boolean }): ReactNode {
  const { strings } = useStepContext();
  return (
    <span role="img" aria-label={checked ? strings.ticked : strings.notTicked}>
      {checked ? "☑" : "☐"}
    </span>
  );
}

/** As an attribute for the style sheet: a strict policy refuses styles in server-rendered markup. */
function alignOf(node: Node | undefined): string | undefined {
  const align = node?.properties.align;
  return typeof align === "string" ? align : undefined;
}

function codeOf(node: Node | undefined): { readonly code: string; readonly language: string } {
  const code = node?.children[0];
  const classes = code?.type === "element" ? code.properties.className : undefined;
  const language = Array.isArray(classes) ? /^language-(.+)$/.exec(String(classes[0]))?.[1] : undefined;
  return { code: textOf(node).replace(/\n$/, ""), language: language ?? "" };
}

function isPicture(child: Child): boolean {
  return child.type === "element" && (child.tagName === "img" || child.children.some(isPicture));
}

function textOf(node: Node | Child | undefined): string {
  if (!node) return "";
  if (node.type === "element") return node.children.map(textOf).join("");
  return node.type === "text" ? node.value : "";
}
