import { runWith } from "./one-shape.ts";
import { parentOf } from "./read-thread.ts";
import type { Run, Thread } from "./thread.ts";
import type { Usage } from "./values.ts";

/** Adds token counts; a count nobody reported stays unreported. */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum: Record<string, number> = {};
  for (const part of [left, right]) {
    for (const [name, count] of Object.entries(part)) {
      if (typeof count === "number") sum[name] = (sum[name] ?? 0) + count;
    }
  }
  return sum;
}

/** What a sub-agent used counts for the run that asked it, too. */
export function withUsageOf(child: Run, thread: Thread): readonly Run[] {
  const parent = parentOf(thread, child)?.run;
  if (!parent) return thread.active;
  const usage = addUsage(parent.usage, child.usage);
  const childCalls = parent.childCalls + child.callCount + child.childCalls;
  return thread.active.with(thread.active.indexOf(parent), runWith(parent, { usage, childCalls }));
}
