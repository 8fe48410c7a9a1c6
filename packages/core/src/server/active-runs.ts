import { ToolRunError } from "../errors.ts";
import type { User } from "../protocol/typed.ts";
import { within } from "./access.ts";
import type { Engine } from "./engine.ts";

/**
 * Performs a write that may start a run of a thread. It calls what it is given right before it does: that throws when
 * the user has as many running runs as are allowed, those counted in that this server is starting at the same time in
 * other threads; one thread has one.
 * @throws `too-many`
 */
export async function whileStarting<Answer>(
  engine: Engine,
  user: User,
  threadId: string,
  write: (canStart: () => Promise<void>) => Promise<Answer>,
): Promise<Answer> {
  let earlier: number | undefined;
  const canStart = async (): Promise<void> => {
    if (earlier === undefined) {
      const starting = engine.starting.get(user.id) ?? [];
      earlier = new Set(starting.filter((id) => id !== threadId)).size;
      engine.starting.set(user.id, [...starting, threadId]);
    }
    const limit = engine.maxActiveRuns;
    const filter = { status: "running", limit: limit + 1 } as const;
    const { rows } = await within(engine, engine.store.list(user.id, undefined, filter));
    const others = rows.filter(({ id }) => id !== threadId).length; // its own may have begun by now: then this joins it
    if (others + earlier < limit) return;
    throw new ToolRunError("too-many", `${limit} runs are active already; wait for one to end or stop it.`);
  };
  try {
    return await write(canStart);
  } finally {
    if (earlier !== undefined) release(engine.starting, user.id, threadId);
  }
}

function release(starting: Engine["starting"], userId: string, threadId: string): void {
  const left = [...(starting.get(userId) ?? [])];
  left.splice(left.indexOf(threadId), 1);
  if (left.length > 0) starting.set(userId, left);
  else starting.delete(userId);
}
