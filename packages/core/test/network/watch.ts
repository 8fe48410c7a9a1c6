import type { ThreadClient } from "../../src/client/thread-client.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { projectThread } from "../../src/protocol/project.ts";
import { reduceThread } from "../../src/protocol/reduce-thread.ts";
import { emptyThread } from "../../src/protocol/thread.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";

/** Everything a tab showed, in order. */
export interface Watched {
  readonly shown: readonly Shown[];
  stop(): void;
}

interface Shown {
  readonly seq: number;
  /** The view as JSON, without what only this tab adds. */
  readonly view: string;
}

export function watch(client: ThreadClient): Watched {
  const shown: Shown[] = [];
  const look = (): void => {
    const snapshot = client.getSnapshot();
    if (snapshot.threadId === undefined || snapshot.loading) return;
    const view = viewOf(client);
    if (shown.at(-1)?.view !== view) shown.push({ seq: snapshot.seq, view });
  };
  return { shown, stop: client.subscribe(look) };
}

/** What a tab shows of the log. */
export function viewOf(client: ThreadClient): string {
  const { threadId, connection, error, loading, access, browserSteps, clockOffsetMs, ...view } = client.getSnapshot();
  return toText(view);
}

function toText(view: Partial<ReturnType<ThreadClient["getSnapshot"]>>): string {
  const isLogged = ({ id }: { readonly id: string }): boolean => !id.startsWith("unsent-");
  const { stopping: _, ...rest } = view;
  return JSON.stringify(
    { ...rest, messages: view.messages?.filter(isLogged), queued: view.queued?.filter(isLogged) },
    (key, value) => (key === "sending" ? undefined : value),
  );
}

/** What is wrong with all a tab showed: each has to be the log up to a seq, and none of them older than the one before. */
export function wrongIn(shown: readonly Shown[], events: readonly ThreadEvent[], threadId: string): string[] {
  const wrong: string[] = [];
  const truth = new Map<number, string>();
  const wanted = new Set(shown.map(({ seq }) => seq));
  let thread = emptyThread(threadId);
  if (wanted.has(0)) truth.set(0, toText(viewThread(thread)));
  for (const event of events) {
    thread = reduceThread(thread, event);
    if (wanted.has(thread.seq)) truth.set(thread.seq, toText(viewThread(projectThread(thread))));
  }
  let last = 0;
  for (const { seq, view } of shown) {
    if (seq < last) wrong.push(`went back from ${last} to ${seq}`);
    if (view !== truth.get(seq)) wrong.push(`at ${seq} it showed ${firstDifference(view, truth.get(seq) ?? "")}`);
    last = seq;
  }
  return wrong;
}

function firstDifference(one: string, two: string): string {
  let at = 0;
  while (at < one.length && one[at] === two[at]) at++;
  const cut = (text: string): string => text.slice(Math.max(0, at - 40), at + 60);
  return `…${cut(one)}… instead of …${cut(two)}…`;
}
