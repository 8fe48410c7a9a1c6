import type { AnyStep, ThreadActions, ThreadSnapshot } from "toolrun";

/** What the chat reads and does: what `useToolRun` returns, with steps of any tool. */
export type ChatRun = Omit<ThreadSnapshot, "id"> & Omit<ThreadActions<AnyStep>, "rename" | "remove">;

/** The steps that wait for a person. What a browser is doing needs nobody. */
export function needPerson({ pending, browserSteps }: Pick<ChatRun, "pending" | "browserSteps">): readonly AnyStep[] {
  return pending.filter((step) => browserSteps[step.id] === undefined);
}
