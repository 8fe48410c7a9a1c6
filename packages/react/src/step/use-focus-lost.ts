"use client";

import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

/** Calls back when an element goes away with focus in it: focus must not fall to the page. */
export function useFocusLost(element: RefObject<HTMLElement | null>, onLost: (() => void) | undefined): void {
  const lost = useRef(onLost);
  useEffect(() => {
    lost.current = onLost;
  });
  // The layout cleanup still sees the focused element.
  useLayoutEffect(() => {
    const { current } = element;
    return () => {
      if (current?.contains(document.activeElement)) queueMicrotask(() => lost.current?.());
    };
  }, [element]);
}
