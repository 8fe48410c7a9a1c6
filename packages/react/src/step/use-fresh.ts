"use client";

import { useEffect, useState } from "react";

/** Presses on what came up under the pointer a moment ago were meant for something else. */
const settleMs = 500;

/** True while something has only just appeared: nothing decides yet. */
export function useFresh(): boolean {
  const [fresh, setFresh] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), settleMs);
    return () => clearTimeout(timer);
  }, []);
  return fresh;
}
