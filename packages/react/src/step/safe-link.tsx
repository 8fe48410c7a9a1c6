import type { ReactNode } from "react";

export interface SafeLinkProps {
  readonly address: string;
  /** What to show in place of the address. */
  readonly title?: ReactNode;
}

/** A link that tells the target nothing about this page. What must not become a link stays text. */
export function SafeLink({ address, title }: SafeLinkProps): ReactNode {
  if (!isSafe(address)) return title ?? address;
  return (
    <a className="tr-anchor" href={address} target="_blank" rel="noopener noreferrer nofollow">
      {title ?? <bdi dir="ltr">{address}</bdi>}
    </a>
  );
}

/** Web and mail addresses, whole: never `javascript:`, and no path of this site that a text could have one press. */
export function isSafe(address: string): boolean {
  return URL.canParse(address) && ["http:", "https:", "mailto:"].includes(new URL(address).protocol);
}

/** Control characters are never drawn, and a terminal would obey them. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => (character === "\n" || character === "\t" ? character : ""));
}
