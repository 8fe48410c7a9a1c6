import { ToolRunError } from "../errors.ts";
import type { RedisLink } from "./redis-client.ts";
import { parsesReplies } from "./redis-client.ts";
import { evicted, toStoreError } from "./redis-failure.ts";

/** Runs a script and gives its reply without the "1" in front. */
export type Run = (script: string, keys: readonly string[], args: readonly string[]) => Promise<readonly unknown[]>;

/** A client's scripts, with failures as our errors and replies that are what the server sent. */
export function toRun(link: RedisLink): Run {
  return async (script, keys, args) => {
    const reply = await link.run(script, keys, args).catch((error: unknown) => {
      throw toStoreError(error);
    });
    if (!Array.isArray(reply)) throw noText();
    const [first, ...rest] = reply as unknown[];
    if (first === 1) throw parsesReplies();
    if (first !== "1") throw noText();
    if (rest[0] === "evicted") throw evicted();
    return rest;
  };
}

function noText(): ToolRunError {
  return new ToolRunError(
    "invalid-config",
    "This Redis client does not give text as text. Hand in one without a type mapping or reply transformer.",
  );
}
