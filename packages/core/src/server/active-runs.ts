import { ToolRunError } from "../errors.ts";
import type { User } from "../protocol/typed.ts";
import { within } from "./access.ts";
import type { Engine } from "./engine.ts";

/**
 * Performs a write that may start a run. It calls what it is given right before it does: that throws when the
 * user has as many running runs as are allowed, those counted in that this server is starting at the same time.
 * @throws `too-many`
 */
export async function whileStarting<Answer>(
  engine: Engine,
  user: User,
  write: (canStart: () => Promise<void>) => Promise<Answer>,
): Promise<Answer> {
  let earlier: number | undefined;
  const canStart = async (): Promise<void> => {
    if (earlier === undefined) {
      earlier = engine.starting.get(user.id) ?? 0;
      engine.starting.set(user.id, earlier + 1);
    }
    const limit = engine.maxActiveRuns;
    const { rows } = await within(engine, engine.store.list(user.id, undefined, { status: "running", limit }));
    if (rows.length + earlier < limit) return;
    throw new ToolRunError("too-many", `${limit} runs are active already; wait for one to end or stop it.`);
  };
  try {
    return await write(canStart);
  } finally {
    if (earlier !== undefined) release(engine.starting, user.id);
  }
}

function release(starting: Map<string, number>, userId: string): void {
  const left = (starting.get(userId) ?? 1) - 1;
  if (left > 0) starting.set(userId, left);
  else starting.delete(userId);
}
