import type { UseToolRun } from "@toolrun/react";
import type { ActionResult, AnyStep, TypedAgent, ViewMessage, ViewPart } from "toolrun";
import { noon } from "./step-of.ts";

const done = (): Promise<ActionResult> => Promise.resolve({ ok: true });

/** A run with steps of any tool, not only of the shop's. */
export type LabRun = UseToolRun<TypedAgent>;

/** What the hook would return, made from parts of a conversation: no server, and buttons that change nothing. */
export function runOf(messages: readonly ViewMessage[], given: Partial<LabRun> = {}): LabRun {
  const steps = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "step" ? withChildren(part.step) : [])),
  );
  const pending = steps.filter((step) => step.ask !== null);
  return {
    threadId: "lab",
    seq: 1,
    title: "Lab",
    status: pending.length > 0 ? "waiting" : messages.length === 0 ? "idle" : "ended",
    stopping: false,
    outcome: pending.length > 0 ? undefined : "completed",
    runId: "run",
    text: "",
    messages,
    steps,
    turns: [],
    pending,
    queued: [],
    grants: [],
    usage: {},
    connection: { status: "idle" },
    error: null,
    loading: false,
    browserSteps: {},
    access: { send: true, decide: true, remove: true },
    clockOffsetMs: 0,
    send: done,
    approve: done,
    deny: done,
    answer: done,
    retry: done,
    skip: done,
    extend: done,
    stop: done,
    continue: done,
    rename: done,
    revoke: done,
    remove: done,
    refresh: done,
    reset: () => {},
    ...given,
  };
}

function withChildren(step: AnyStep): readonly AnyStep[] {
  return [step, ...step.children.flatMap(withChildren)];
}

export function said(text: string, id = "message"): ViewMessage {
  return { id, role: "user", parts: [{ type: "text", text }], at: noon, by: { id: "lab" } };
}

export function answered(...parts: readonly (string | AnyStep | ViewPart)[]): ViewMessage {
  return { id: "run", role: "assistant", parts: parts.map(toPart), at: noon, runId: "run" };
}

function toPart(part: string | AnyStep | ViewPart): ViewPart {
  if (typeof part === "string") return { type: "text", text: part };
  return "type" in part ? part : { type: "step", step: part };
}
