"use client";

import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { useStepContext } from "../step/step-context.ts";
import { OptionsContext } from "./options.ts";

export interface PictureProps {
  readonly src: string;
  readonly alt: string;
}

/** A picture of a host that is not allowed is a word and a button: nothing is asked for before somebody presses it. */
export function Picture({ src, alt }: PictureProps): ReactNode {
  const { strings } = useStepContext();
  const { imageHosts } = useContext(OptionsContext);
  const [pressed, setPressed] = useState<string>(); // the address: another one needs another press
  const picture = useRef<HTMLImageElement>(null);
  // The button that had focus is gone.
  useEffect(() => {
    if (pressed !== undefined) picture.current?.focus({ preventScroll: true });
  }, [pressed]);

  const host = hostOf(src);
  if (host !== undefined && (pressed === src || imageHosts?.includes(host))) {
    // Lazy also keeps React from preloading it in server-rendered markup.
    return (
      // biome-ignore lint/performance/noImgElement: this package knows no framework.
      <img
        ref={picture}
        className="tr-picture"
        loading="lazy"
        decoding="async"
        referrerPolicy="no-referrer"
        tabIndex={pressed === src ? -1 : undefined}
        alt={alt}
        src={src}
      />
    );
  }
  const words = strings.image(alt, host);
  return (
    <span className="tr-no-picture">
      <bdi>[{words}]</bdi>
      {host === undefined ? null : (
        <>
          {" "}
          <button type="button" className="tr-link" onClick={() => setPressed(src)}>
            {strings.loadImage} <span className="tr-sr-only">{words}</span>
          </button>
        </>
      )}
    </span>
  );
}

/** Undefined for what is not a web address: this site's paths and data in the address are no pictures of a text. */
function hostOf(src: string): string | undefined {
  if (!URL.canParse(src)) return undefined;
  const { protocol, host } = new URL(src);
  return protocol === "https:" || protocol === "http:" ? host : undefined;
}
