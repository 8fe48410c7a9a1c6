import { act, cleanup, type RenderResult, render } from "@testing-library/react";
import axe from "axe-core";
import type { ReactNode } from "react";
import type { ActionResult, AnyStep, ViewMessage, ViewPart } from "toolrun";
import { afterEach, beforeEach, expect, type Mock, vi } from "vitest";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import { StepCard } from "../../src/step/step-card.tsx";
import { StepContext, type StepContextValue } from "../../src/step/step-context.ts";
import { en } from "../../src/strings.ts";

export const at: number = Date.UTC(2026, 4, 4, 12, 3, 0);

export const schema = {
  type: "object",
  properties: {
    orderId: { type: "string", title: "Order" },
    amount: { type: "number", title: "Amount", exclusiveMinimum: 0 },
    notify: { type: "boolean", title: "Notify", default: false },
    reason: { type: "string", title: "Reason" },
  },
  required: ["orderId", "amount"],
} as const;

/** A step that has succeeded, or whatever is given. */
export function stepOf(given: Partial<AnyStep> = {}): AnyStep {
  return {
    id: "call-1",
    threadId: "thread",
    tool: "refundOrder",
    title: "Refund order",
    status: "succeeded",
    input: { orderId: "1042", amount: 49.9 },
    draft: "",
    digest: "digest-1",
    destructive: false,
    ask: null,
    decision: null,
    earlier: [],
    attempt: 1,
    progress: null,
    log: [],
    children: [],
    sending: false,
    ...given,
  };
}

/** A step that waits for an approval. */
export function waitingOf(given: Partial<AnyStep> = {}, ask: Partial<NonNullable<AnyStep["ask"]>> = {}): AnyStep {
  const asked = { kind: "approval", digest: "digest-1", askedAt: at, editable: true, schema, ...ask } as const;
  return stepOf({ status: "waiting", attempt: 0, ask: asked, ...given });
}

type Action = Mock<(...given: unknown[]) => Promise<ActionResult>>;
export type Actions = Readonly<Record<"approve" | "deny" | "answer" | "retry" | "skip" | "extend", Action>>;

/** An action that the server takes. */
export function accepting(): Action {
  return vi.fn(() => Promise.resolve<ActionResult>({ ok: true }));
}

export function actionsOf(result: ActionResult = { ok: true }): Actions {
  const action = (): Action => vi.fn(() => Promise.resolve(result));
  return { approve: action(), deny: action(), answer: action(), retry: action(), skip: action(), extend: action() };
}

/** Renders one card past the moment in which nothing decides. */
export function renderStep(
  step: AnyStep,
  actions: Actions = actionsOf(),
  context: Partial<StepContextValue> = {},
): RenderResult & { show(step: AnyStep): void } {
  const tree = (shown: AnyStep): ReactNode => (
    <StepContext.Provider value={{ strings: en, actions, ...context }}>
      <StepCard step={shown} />
    </StepContext.Provider>
  );
  const view = render(tree(step));
  act(() => settle());
  return { ...view, show: (next) => view.rerender(tree(next)) };
}

/** Lets half a second pass: a card that has only just come up decides nothing. */
export function settle(ms = 600): void {
  vi.advanceTimersByTime(ms);
}

/** Fake timers that run by themselves, so that promises and user-event work as ever. */
export function calmClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ shouldAdvanceTime: true, now: at });
    sessionStorage.clear();
    Element.prototype.scrollIntoView = () => {}; // jsdom lays nothing out
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
  });
}

/** Colours need a browser, and a fragment has no landmarks; everything else is checked. */
export async function expectAccessible(container: Element): Promise<void> {
  vi.useRealTimers();
  const rules = { "color-contrast": { enabled: false }, region: { enabled: false } };
  const { violations } = await act(() => axe.run(container, { rules }));
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`)).toEqual([]);
}

export function messageOf(...parts: readonly (AnyStep | string | ViewPart)[]): ViewMessage {
  const toPart = (part: AnyStep | string | ViewPart): ViewPart => {
    if (typeof part === "string") return { type: "text", text: part };
    return "type" in part ? part : { type: "step", step: part };
  };
  return { id: "run", role: "assistant", runId: "run", at, parts: parts.map(toPart) };
}

export function saidOf(text: string, id = "said"): ViewMessage {
  return { id, role: "user", at, parts: [{ type: "text", text }] };
}

function family(step: AnyStep): readonly AnyStep[] {
  return [step, ...step.children.flatMap(family)];
}

/** What the hook would return for these messages. */
export function runOf(messages: readonly ViewMessage[], given: Partial<ChatRun> = {}): ChatRun {
  const steps = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "step" ? family(part.step) : [])),
  );
  const pending = steps.filter((step) => step.ask !== null);
  const done = (): Promise<ActionResult> => Promise.resolve({ ok: true });
  return {
    threadId: "thread",
    seq: 1,
    title: "",
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
    revoke: done,
    stop: done,
    continue: done,
    refresh: done,
    ...given,
  };
}
