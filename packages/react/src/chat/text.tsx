import { Fragment, type ReactNode } from "react";
import { isSafe, SafeLink, withoutControls } from "../step/safe-link.tsx";

/** What may become a link: an address or a mail address. Anything else, `javascript:` first, stays text. */
const addresses = /(?:https?:\/\/|mailto:)[^\s<>"'`]+/gi;

/** Plain text with its line breaks and safe links. No Markdown and no HTML: it is what the model said, as it is. */
export function Text({ text }: { readonly text: string }): ReactNode {
  const blocks = withoutControls(text)
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== "");
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: paragraphs of a growing text keep their place.
    <p key={index} className="tr-prose" dir="auto">
      <Linked text={block} />
    </p>
  ));
}

function Linked({ text }: { readonly text: string }): ReactNode {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(addresses)) {
    const address = withoutTail(match[0]);
    if (!isSafe(address)) continue;
    parts.push(<Fragment key={end}>{text.slice(end, match.index)}</Fragment>);
    parts.push(<SafeLink key={`link ${match.index}`} address={address} />);
    end = match.index + address.length;
  }
  if (end === 0) return text;
  parts.push(<Fragment key={end}>{text.slice(end)}</Fragment>);
  return parts;
}

/** The full stop after an address is not part of it, nor is the bracket around it. */
function withoutTail(address: string): string {
  const trimmed = address.replace(/[.,;:!?*_]+$/, "");
  return trimmed.endsWith(")") && !trimmed.includes("(") ? trimmed.slice(0, -1) : trimmed;
}
