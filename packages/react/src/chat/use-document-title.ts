"use client";

import { useEffect, useRef } from "react";
import type { Strings } from "../strings.ts";
import { type ChatRun, needPerson } from "./chat-run.ts";

/** Calls a person back from another tab: a decision that waits, or a run that ended unseen. The title is given back. */
export function useDocumentTitle(run: ChatRun, strings: Strings): void {
  const asking = needPerson(run);
  const count = asking.length;
  const pending = asking.every((step) => step.ask?.kind === "approval")
    ? strings.documentPending
    : strings.documentNeeded;
  const isOver = run.status === "ended";
  const wasActive = useRef(false);
  const unseen = useRef(false);

  useEffect(() => {
    if (run.status === "running" || run.status === "waiting") wasActive.current = true;
  }, [run.status]);

  useEffect(() => {
    const own = document.title;
    if (isOver && wasActive.current && document.hidden) unseen.current = true;
    if (isOver) wasActive.current = false;
    const show = (): void => {
      if (!document.hidden) unseen.current = false;
      if (count > 0) document.title = pending(count, own);
      else document.title = unseen.current ? strings.documentDone(own) : own;
    };
    show();
    document.addEventListener("visibilitychange", show);
    return () => {
      document.removeEventListener("visibilitychange", show);
      document.title = own;
    };
  }, [count, isOver, pending, strings]);
}
