import type { AnyStep, ThreadActions, ThreadSnapshot } from "toolrun";

/** What the chat reads and does: what `useToolRun` returns, with steps of any tool. */
export type ChatRun = Omit<ThreadSnapshot, "id"> & Omit<ThreadActions<AnyStep>, "rename" | "revoke" | "remove">;
