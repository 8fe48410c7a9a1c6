"use client";

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** This near to the end counts as there. */
const edge = 8;
/** Room above the first question. */
const margin = 12;

export interface Follow {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  /** False once the reader has scrolled up: new content then moves nothing. */
  readonly following: boolean;
  /** Goes to the end and follows again, in answer to a press. */
  readonly jump: () => void;
}

/**
 * Keeps the end of a growing transcript in view while the reader is there. Scrolling up releases it, by whatever means
 * and however little; so do selecting text and typing inside. Coming back to the end takes it up again.
 */
export function useFollow(): Follow {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const held = useRef(true);
  const last = useRef({ top: 0, height: 0 });
  const [following, setFollowing] = useState(true);

  const set = useCallback((value: boolean): void => {
    held.current = value;
    setFollowing(value);
  }, []);

  // Before the first paint, so that a conversation opens at its end.
  useLayoutEffect(() => {
    if (scroller.current) toLatest(scroller.current);
  }, []);

  useEffect(() => {
    const frame = scroller.current;
    if (!frame) return;
    last.current = { top: frame.scrollTop, height: frame.scrollHeight };
    const onScroll = (): void => {
      const { scrollTop: top, scrollHeight: height } = frame;
      const isAtEnd = top + frame.clientHeight >= height - edge;
      // Nothing of ours ever scrolls up, so whatever does is the reader, unless the page became shorter under it.
      if (isAtEnd) set(true);
      else if (top < last.current.top && height >= last.current.height) set(false);
      last.current = { top, height };
    };
    frame.addEventListener("scroll", onScroll, { passive: true });
    const observer = typeof ResizeObserver === "undefined" ? undefined : new ResizeObserver(() => follow(frame));
    const follow = (element: HTMLElement): void => {
      if (held.current && !isReading(element)) toLatest(element);
    };
    observer?.observe(frame);
    if (content.current) observer?.observe(content.current);
    return () => {
      frame.removeEventListener("scroll", onScroll);
      observer?.disconnect();
    };
  }, [set]);

  return {
    scroller,
    content,
    following,
    jump: () => {
      set(true);
      if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
    },
  };
}

/** To the end, but not past what waits for a decision: who comes back finds the first question, not the last button. */
function toLatest(frame: HTMLElement): void {
  const asking = frame.querySelector("[data-step-heading]")?.closest("[data-step]");
  const first = frame.querySelector(".tr-batch") ?? asking;
  const above = first ? first.getBoundingClientRect().top - frame.getBoundingClientRect().top - margin : Infinity;
  const top = Math.min(frame.scrollHeight - frame.clientHeight, frame.scrollTop + above);
  if (top > frame.scrollTop) frame.scrollTop = top; // nothing that comes by itself scrolls up
}

/** Selects text or types in the transcript: the page must hold still under the hand. */
function isReading(frame: HTMLElement): boolean {
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && frame.contains(selection.anchorNode)) return true;
  const active = document.activeElement;
  return active !== null && frame.contains(active) && active.matches("input, textarea, select");
}
