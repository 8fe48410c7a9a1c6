"use client";

import { type ReactNode, useState } from "react";
import { Icon } from "./icon.tsx";
import { useStepContext } from "./step-context.ts";
import { VisibleText } from "./visible-text.tsx";

export interface LinkOutProps {
  readonly url: string | undefined;
  readonly off: boolean;
  readonly busy: boolean;
  readonly onDone: () => void;
  readonly skip: ReactNode;
}

/** A page to visit in a tab of its own, and the word that it is done. */
export function LinkOut({ url = "", off, busy, onDone, skip }: LinkOutProps): ReactNode {
  const { strings } = useStepContext();
  const [opened, setOpened] = useState(false);
  const safe = isSafe(url);
  return (
    <>
      {url === "" ? null : (
        <p className="tr-address">
          <bdi dir="ltr">
            <VisibleText text={url} />
          </bdi>
          {safe ? null : <span className="tr-muted"> {strings.unsafeLink}</span>}
        </p>
      )}
      <div className="tr-actions">
        {safe ? (
          <a
            className={opened ? "tr-button" : "tr-button tr-primary"}
            href={url}
            target="_blank"
            rel="noopener noreferrer nofollow"
            onClick={() => setOpened(true)}
          >
            {strings.openLink(hostOf(url))} <span className="tr-sr-only">({strings.newTab})</span> <Icon name="out" />
          </a>
        ) : null}
        <button
          type="button"
          className={opened || !safe ? "tr-button tr-primary" : "tr-button"}
          aria-disabled={off || undefined}
          data-busy={busy || undefined}
          onClick={() => off || onDone()}
        >
          {busy ? strings.sending : strings.done}
        </button>
        {skip}
      </div>
    </>
  );
}

/** Only web addresses and paths of this site become links: the address may come from a model. Browsers read over tabs. */
function isSafe(url: string): boolean {
  if (/\s/.test(url)) return false;
  return (/^https?:\/\//i.test(url) && URL.canParse(url)) || /^\/(?![/\\])/.test(url);
}

/** Where it leads: a name in front of an @ can look like one. */
function hostOf(url: string): string {
  return url.startsWith("/") ? "" : new URL(url).host;
}
