import { ToolRunError } from "../errors.ts";
import type { User } from "../protocol/typed.ts";
import { viewThread } from "../protocol/view-thread.ts";
import type { AccessAction, Engine } from "./engine.ts";
import type { OpenThread } from "./thread-log.ts";
import { readThread } from "./thread-log.ts";

/** What a user may do with a thread; a reader of the screen sees its buttons accordingly. */
export interface Access {
  readonly send: boolean;
  readonly decide: boolean;
  readonly remove: boolean;
}

/**
 * Opens a thread for a user's action.
 * @throws `not-found` for unknown, removed and foreign threads alike · `forbidden` when this user may read but not do this.
 */
export async function openFor(engine: Engine, user: User, action: AccessAction, threadId: string): Promise<OpenThread> {
  checkUser(user);
  const open = await within(engine, readThread(engine, threadId));
  if (!open || open.thread.createdAt === 0) throw unknown();
  if (await may(engine, user, action, open)) return open;
  const mayRead = action !== "read" && (await may(engine, user, "read", open));
  throw mayRead ? new ToolRunError("forbidden", "You may read this conversation, but not change it.") : unknown();
}

/** A user without an id would be everybody: a store lists all threads when no owner is named. */
export function checkUser(user: User): void {
  if (typeof user.id === "string" && user.id !== "") return;
  throw new ToolRunError("misconfigured", "identify must return a user with an id: a text that is not empty.");
}

function unknown(): ToolRunError {
  return new ToolRunError("not-found", "There is no such conversation.");
}

/** Asks `authorize`; the view is made only for a rule that looks at it. */
export function may(
  engine: Engine,
  user: User,
  action: AccessAction,
  { thread }: OpenThread,
): boolean | Promise<boolean> {
  return engine.authorize({
    user,
    action,
    owner: thread.owner,
    get thread() {
      return viewThread(thread);
    },
  });
}

/** What the user may do, for the screen. The server checks each action again. */
export async function accessOf(engine: Engine, user: User, open: OpenThread): Promise<Access> {
  const [send, decide, remove] = await Promise.all([
    may(engine, user, "send", open),
    may(engine, user, "decide", open),
    may(engine, user, "remove", open),
  ]);
  return { send, decide, remove };
}

const ANSWER_WITHIN_MS = 10_000;

/** What a store that does not answer is called. */
export const STORE_LATE: string = "The store did not answer in time; try again.";

/** What does not answer is not waited for: the caller gets `unavailable`, which may be tried again. */
export async function inTime<Value>(
  engine: Engine,
  work: Promise<Value>,
  message: string = STORE_LATE,
): Promise<Value> {
  let cancel: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = engine.clock.after(ANSWER_WITHIN_MS, () => reject(new ToolRunError("unavailable", message)));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}

/** A call of a service: also its own error is `unavailable` to the caller, and kept in the server's log. */
export async function within<Value>(
  engine: Engine,
  work: Promise<Value>,
  message: string = STORE_LATE,
): Promise<Value> {
  try {
    return await inTime(engine, work, message);
  } catch (error) {
    if (error instanceof ToolRunError) throw error;
    throw new ToolRunError("unavailable", message, { reference: engine.report(error), cause: error });
  }
}
