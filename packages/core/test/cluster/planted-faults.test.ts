import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisServer } from "../adapters/redis-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";
import type { Replacement } from "../build-mutant.ts";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import { rehearse } from "./rehearse.ts";

const long = process.env.TOOLRUN_LONG === "1";

/** A rule of the servers taken out, and what the rehearsal has to say of it. */
interface Fault extends Replacement {
  readonly name: string;
  readonly sees: RegExp;
  readonly killEveryMs?: number;
}

const faults: readonly Fault[] = [
  {
    name: "a call runs before its start is in the log",
    file: "loop/run-loop.ts",
    from: "if (events.length > 0 || taken.poked) {",
    to: "if (events.length > 0 || taken.poked) {\n        effects.start(intents, proposal.thread, mayStartUntil);",
    sees: /ran before its start was in the log/,
  },
  {
    name: "a call that may not run twice is started again by the next server",
    file: "loop/next-action.ts",
    from: "return isAllowed(grantOf(call)) && tool?.idempotent === true && triesOf(call) <= tool.maxRetries;",
    to: "return tool !== undefined && triesOf(call) <= 2;",
    sees: /ran again and nobody wanted it/,
    killEveryMs: 600,
  },
  {
    name: "a try has a key of its own",
    file: "loop/intents.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source's own text
    from: "key: `${call.callId}.${call.failures}`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above
    to: "key: `${call.callId}.${call.attempt}`",
    sees: /another try got another key/,
    killEveryMs: 600,
  },
  {
    name: "a living server's lease is not looked at",
    file: "adapters/redis-scripts.ts",
    from: "tonumber(till) > time then",
    to: "tonumber(till) > time and false then",
    sees: /although nobody died/,
  },
  {
    name: "a stream that goes on misses the first event",
    file: "server/follow-thread.ts",
    from: "stored.filter(({ seq }) => seq > after)",
    to: "stored.filter(({ seq }) => seq > after + 1)",
    sees: /follower \d has .* instead of/,
    killEveryMs: 2_000,
  },
];

describe.skipIf(!(await hasRedis("faults planted into two servers")))("the rehearsal of two servers", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await redis?.close();
    await removeBuilds();
  });

  // The first needs no luck and little time; the others are for the long tests.
  test.each(long ? faults : faults.slice(0, 1))(
    "sees that $name",
    async ({ name, sees, killEveryMs, ...replacement }) => {
      const file = await buildFile(new URL("./server-process.ts", import.meta.url), name, replacement);
      let wrong: readonly string[] = [];
      // Whether a kill strikes the right moment is chance: a few rehearsals, until one does.
      for (let seed = 1; seed <= 6 && !wrong.some((text) => sees.test(text)); seed++) {
        const runs = { watched: 10, unwatched: 0, runMs: 15_000 };
        ({ wrong } = await rehearse({
          file,
          storeUrl: `${redis.url}/${faults.findIndex((fault) => fault.name === name)}`,
          seed,
          killEveryMs,
          ...runs,
        }));
      }
      expect(wrong.filter((text) => sees.test(text))).not.toEqual([]);
    },
    120_000,
  );

  test("has nothing to say where nobody dies", async () => {
    const file = await buildFile(new URL("./server-process.ts", import.meta.url), "sound");
    const { wrong, ...figures } = await rehearse({
      file,
      storeUrl: `${redis.url}/9`,
      seed: 1,
      watched: 10,
      unwatched: 0,
    });
    expect(wrong).toEqual([]);
    expect(figures).toMatchObject({ runs: 10, kills: 0, takenOver: 0, interrupted: 0 });
  }, 60_000);
});
