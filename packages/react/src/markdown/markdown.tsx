"use client";

import { type ReactNode, useMemo } from "react";
import remend from "remend";
import { withoutControls } from "../step/safe-link.tsx";
import { MarkdownBlock } from "./markdown-block.tsx";
import { type MarkdownOptions, OptionsContext } from "./options.ts";
import { splitBlocks } from "./split-blocks.ts";

export interface MarkdownProps extends MarkdownOptions {
  readonly text: string;
  /** More is coming: what is not closed yet is drawn as if it were. */
  readonly streaming?: boolean | undefined;
}

/**
 * Text as Markdown (GitHub's), safe whoever wrote it: no HTML, no picture that loads by itself, links to web and mail
 * addresses that show where they lead. For `<ToolRunChat renderText={(part) => <Markdown {...part} />} />`. Needs
 * `react-markdown`, `remark-gfm` and `remend`.
 */
export function Markdown({ text, streaming = false, imageHosts, renderCode }: MarkdownProps): ReactNode {
  const options = useMemo(() => ({ imageHosts, renderCode }), [imageHosts, renderCode]);
  const blocks = useMemo(() => splitBlocks(withoutControls(text)), [text]);
  const last = blocks.length - 1;
  return (
    <OptionsContext.Provider value={options}>
      <div className="tr-markdown" dir="auto">
        {blocks.map((block, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a growing text keep their place.
          <MarkdownBlock key={index} source={streaming && index === last ? closed(block) : block} />
        ))}
      </div>
    </OptionsContext.Provider>
  );
}

/** Only what would flicker: the rest of remend's repairs would change the text again when it is whole. */
function closed(block: string): string {
  return remend(block, { linkMode: "text-only", katex: false, comparisonOperators: false, singleTilde: false });
}
