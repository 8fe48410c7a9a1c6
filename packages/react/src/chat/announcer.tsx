"use client";

import { type ReactNode, useEffect, useRef } from "react";
import { useStepContext, whoDecided } from "../step/step-context.ts";
import { type Announcement, announcements } from "./announcements.ts";
import type { ChatRun } from "./chat-run.ts";
import { useLost } from "./run-banner.tsx";
import { useExpiry } from "./use-expiry.ts";

const politeEveryMs = 1_500;
const removeAfterMs = 1_000;

/**
 * Two live regions that are there from the first render: what is worth saying is added to them and removed a second
 * later, so that every reader notices it and none reads it twice.
 */
export function Announcer({ run }: { readonly run: ChatRun }): ReactNode {
  const context = useStepContext();
  const polite = useRef<HTMLDivElement>(null);
  const urgent = useRef<HTMLDivElement>(null);
  const before = useRef(run);
  const latest = useRef(context);
  const say = useRef<(announcement: Announcement) => void>(() => {});
  latest.current = context;

  useEffect(() => {
    const speaker = createSpeaker(
      () => polite.current,
      () => urgent.current,
    );
    say.current = speaker.say;
    return speaker.close;
  }, []);

  useEffect(() => {
    if (before.current === run) return;
    const { strings } = latest.current;
    const said = announcements(before.current, run, strings, (step) => whoDecided(step.decision, latest.current));
    before.current = run;
    for (const announcement of said) say.current(announcement);
  }, [run]);

  useExpiry(run, (title, leftMs, urgent) => {
    const { strings } = latest.current;
    say.current({ text: strings.announceExpires(title, strings.period(leftMs)), urgent });
  });

  const lost = useLost(run);
  const wasLost = useRef(false);
  useEffect(() => {
    if (lost === wasLost.current) return;
    wasLost.current = lost;
    const { announceLost, announceBack } = latest.current.strings;
    say.current({ text: lost ? announceLost : announceBack, urgent: false });
  }, [lost]);

  return (
    <div className="tr-sr-only">
      <div ref={polite} role="status" />
      <div ref={urgent} role="alert" />
    </div>
  );
}

/** Speaks one polite sentence at a time, urgent ones at once, and nothing twice in a row. */
function createSpeaker(polite: () => HTMLElement | null, urgent: () => HTMLElement | null) {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let queue: readonly string[] = [];
  let resting = false;
  let last = "";

  const later = (ms: number, action: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };
  const add = (region: HTMLElement | null, text: string): void => {
    const node = document.createElement("div");
    node.textContent = text;
    region?.append(node);
    later(removeAfterMs, () => node.remove());
  };
  const next = (): void => {
    if (resting || queue.length === 0) return;
    add(polite(), queue.join(" "));
    queue = [];
    resting = true;
    later(politeEveryMs, () => {
      resting = false;
      next();
    });
  };
  return {
    say({ text, urgent: isUrgent }: Announcement): void {
      if (text === last) return;
      last = text;
      if (isUrgent) add(urgent(), text);
      else queue = [...queue, text];
      next();
    },
    close(): void {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
