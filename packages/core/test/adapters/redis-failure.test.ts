import { describe, expect, test } from "vitest";
import { ToolRunError } from "../../src/errors.ts";
import { redisStore } from "../../src/redis.ts";
import { toToolRunError } from "../../src/server/errors-on-the-wire.ts";

/** A store whose client fails as a real one does. */
async function failWith(said: Error): Promise<ToolRunError> {
  const fail = (): Promise<never> => Promise.reject(said);
  const store = redisStore({ eval: fail, evalsha: fail });
  return store.read("t").then(
    () => Promise.reject(new Error("the read did not fail")),
    (error: unknown) => (error instanceof ToolRunError ? error : Promise.reject(error)),
  );
}

/** Texts of Redis 6 and 7, redis, ioredis and @upstash/redis, with what the message must name. */
const SAID: readonly [text: string, code: string, named: string][] = [
  [
    "OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:57.",
    "unavailable",
    "maxmemory",
  ],
  ["ERR Error running script (call to f_1): @user_script: 9: -OOM command not allowed", "unavailable", "maxmemory"],
  ["READONLY You can't write against a read only replica. script: 1f, on @user_script:57.", "unavailable", "primary"],
  ["LOADING Redis is loading the dataset in memory", "unavailable", "loading"],
  ["MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk.", "unavailable", "disk"],
  ["NOREPLICAS Not enough good replicas to write.", "unavailable", "replicas"],
  ["CLUSTERDOWN The cluster is down", "unavailable", "nodes"],
  ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "unavailable", "busy"],
  ["NOAUTH Authentication required.", "misconfigured", "credentials"],
  ['WRONGPASS invalid or missing auth token, command was: ["evalsha"]', "misconfigured", "token"],
  ["NOPERM User ada has no permissions to run the 'evalsha' command", "misconfigured", "EVALSHA"],
  ["MOVED 3999 10.0.0.7:6381", "misconfigured", "cluster client"],
  ["ERR unknown command 'EVALSHA', with args beginning with: ", "misconfigured", "6.2"],
  ["ERR Unknown Redis command called from script script: 1f, on @user_script:50.", "misconfigured", "6.2"],
  ["ERR Error running script: @user_script: 3: Unknown Redis command called from Lua script", "misconfigured", "6.2"],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "misconfigured", "prefix"],
  [
    'ERR max request size exceeded. Limit: 1048576 bytes, Actual: 2097152 bytes, command was: ["eval"]',
    "too-large",
    "size",
  ],
  ["ERR max requests limit exceeded. Limit: 500000, Usage: 500001", "unavailable", "limit"],
  ["The client is closed", "unavailable", "connect()"],
  ["Connection is closed.", "unavailable", "connect()"],
  ["connect ECONNREFUSED 10.0.0.7:6379", "unavailable", "running"],
  ["Reached the max retries per request limit (which is 20).", "unavailable", "running"],
  ["Socket closed unexpectedly", "unavailable", "running"],
  ["fetch failed", "unavailable", "running"],
  ["ERR something new", "unavailable", "log"],
];

describe("what a client throws", () => {
  test.each(SAID)("%s → %s that names the fix: %s", async (text, code, named) => {
    const cause = new Error(text);
    const error = await failWith(cause);
    expect(error).toMatchObject({ code, cause });
    expect(error.message).toContain(named);
  });

  test("is not read in what an Upstash client adds: the command, with what people wrote", async () => {
    const said = 'fetch failed, command was: ["evalsha","1f","3","a customer wrote OOM, NOSCRIPT and READONLY"]';
    expect((await failWith(new Error(said))).message).toContain("could not be reached");
  });

  test("never reaches a browser: no host, no key, no stack", async () => {
    const wire = toToolRunError(
      { report: () => "r1" },
      await failWith(new Error("connect ECONNREFUSED 10.0.0.7:6379")),
    );
    const { code, message, issues, reference, step } = wire;
    expect(code).toBe("unavailable");
    expect(JSON.stringify({ code, message, issues, reference, step })).not.toMatch(/10\.0\.0\.7|6379|ECONN|at /);
  });
});
