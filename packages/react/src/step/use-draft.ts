"use client";

import { useEffect, useRef, useState } from "react";
import type { Draft } from "./fields.ts";

/**
 * What was typed about a step, kept for the session: it survives Back, a remount and a reload. Only fields that still
 * exist are read back, and a browser that allows no storage costs the draft, not the form.
 */
export function useDraft(stepId: string, proposed: Draft): readonly [Draft, (draft: Draft) => void] {
  const key = `toolrun:draft:${stepId}`;
  const [draft, setDraft] = useState<Draft>(proposed);
  const latest = useRef(proposed);
  // After mounting: a server's markup knows nothing of this browser's storage.
  useEffect(() => {
    const kept = read(key, latest.current);
    if (Object.keys(kept).length > 0) setDraft({ ...latest.current, ...kept });
  }, [key]);
  return [
    draft,
    (next) => {
      setDraft(next);
      write(key, Object.fromEntries(Object.entries(next).filter(([name, text]) => text !== proposed[name])));
    },
  ];
}

function read(key: string, proposed: Draft): Draft {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(key) ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    const known = Object.entries(stored).filter(([name, text]) => typeof text === "string" && name in proposed);
    return Object.fromEntries(known);
  } catch {
    return {};
  }
}

function write(key: string, changes: Draft): void {
  try {
    if (Object.keys(changes).length === 0) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(changes));
  } catch {
    // No storage: the draft lives as long as the form.
  }
}
