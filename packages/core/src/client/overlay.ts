import type { AnyStep } from "../protocol/step.ts";
import type { ThreadView, ViewMessage, ViewPart } from "../protocol/view-thread.ts";

/** What this tab has posted and the log does not show yet. */
export interface Unconfirmed {
  /** Undefined when no step is. */
  readonly isSending: ((step: AnyStep) => boolean) | undefined;
  readonly messages: readonly ViewMessage[];
}

/** Marks it in a view. Whatever it does not touch keeps its identity; a marked step keeps its own. */
export function overlayView(view: ThreadView, { isSending, messages: own }: Unconfirmed): ThreadView {
  const mark = (step: AnyStep): AnyStep => (isSending ? markStep(step, isSending) : step);
  const steps = isSending ? mapSame(view.steps, mark) : view.steps;
  const hasOwn = own.length > 0;
  if (steps === view.steps && !hasOwn) return view;
  const markPart = (part: ViewPart): ViewPart => {
    if (part.type !== "step") return part;
    const step = mark(part.step);
    return step === part.step ? part : { type: "step", step };
  };
  const messages = mapSame(view.messages, (message) => {
    const parts = mapSame(message.parts, markPart);
    return parts === message.parts ? message : { ...message, parts };
  });
  return {
    ...view,
    steps,
    pending: mapSame(view.pending, mark),
    messages: hasOwn ? [...messages, ...own] : messages,
    queued: hasOwn ? [...view.queued, ...own] : view.queued,
  };
}

const marked = new WeakMap<AnyStep, AnyStep>();

function markStep(step: AnyStep, isSending: (step: AnyStep) => boolean): AnyStep {
  const children = mapSame(step.children, (child) => markStep(child, isSending));
  const sending = isSending(step);
  if (!sending && children === step.children) return step;
  const known = marked.get(step);
  if (known?.sending === sending && mapSame(known.children, (_, index) => children[index]) === known.children) {
    return known;
  }
  const next = { ...step, children, sending };
  marked.set(step, next);
  return next;
}

/** Like map; the same array when every item stayed the same. */
function mapSame<Item>(
  items: readonly Item[],
  change: (item: Item, index: number) => Item | undefined,
): readonly Item[] {
  const next = items.map((item, index) => change(item, index) ?? item);
  return next.some((item, index) => item !== items[index]) ? next : items;
}
