"use client";

import { type ReactNode, useEffect, useState } from "react";
import styles from "./copy-line.module.css";

/** A command and a button that copies it. */
export function CopyLine({ text }: { readonly text: string }): ReactNode {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  // Without a secure context there is no clipboard; the command can still be selected.
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState("copied");
    } catch {
      setState("failed");
    }
  };
  return (
    <span className={styles.line}>
      <code>{text}</code>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>
      <span role="status">{state === "copied" ? "Copied" : state === "failed" ? "Select it, please" : ""}</span>
    </span>
  );
}
