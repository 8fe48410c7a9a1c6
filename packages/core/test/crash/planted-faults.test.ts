import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import type { RedisServer } from "../adapters/redis-server.ts";
import { hasRedis, startRedis } from "../adapters/redis-server.ts";
import type { Replacement } from "../build-mutant.ts";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import type { Outcome, Stage } from "./crash.ts";
import { openStage } from "./crash.ts";
import type { Point } from "./point.ts";

/** A rule of the server taken out, where a death shows it, and what the checks have to say. */
interface Fault extends Replacement {
  readonly name: string;
  readonly point: (events: readonly ThreadEvent[]) => Point;
  readonly sees: RegExp;
}

const faults: readonly Fault[] = [
  {
    name: "a call runs before its start is in the log",
    file: "loop/run-loop.ts",
    from: "if (events.length > 0 || taken.poked) {",
    to: "if (events.length > 0 || taken.poked) {\n        effects.start(intents, proposal.thread, mayStartUntil);",
    point: (events) => ({ kind: "before", at: first(events, "call-started", 2), answer: "retry" }),
    sees: /ran twice in attempt 1/,
  },
  {
    name: "a call that may not run twice is started again by the next server",
    file: "loop/next-action.ts",
    from: "return isAllowed(grantOf(call)) && tool?.idempotent === true && triesOf(call) <= tool.maxRetries;",
    to: "return tool !== undefined && triesOf(call) <= 2;",
    point: () => ({ kind: "effect", at: 2, answer: "retry" }),
    sees: /refund .* is started again and nobody wanted it/,
  },
  {
    name: "a try has a key of its own",
    file: "loop/intents.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source's own text
    from: "key: `${call.callId}.${call.failures}`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above
    to: "key: `${call.callId}.${call.attempt}`",
    point: () => ({ kind: "effect", at: 1, answer: "retry" }),
    sees: /lookup .* honours keys and had 2 effects/,
  },
  {
    name: "a decision is answered while only the server's memory has it",
    file: "server/write.ts",
    from: "const result = await appendWrite(engine, open, drafts, claim, now);",
    to: `const appending = appendWrite(engine, open, drafts, claim, now);
    if (drafts.some(({ type }) => type === "decision-recorded")) return answer(open.thread.seq + 1, open.thread);
    const result = await appending;`,
    point: (events) => ({ kind: "before", at: first(events, "decision-recorded"), answer: "retry" }),
    sees: /A decision was answered and is not in the log/,
  },
  {
    name: "the person's input is only in the server's memory",
    file: "server/thread-log.ts",
    from: "data: serialiseEvent(event) }",
    to: 'data: serialiseEvent(event.type === "decision-recorded" ? { ...event, input: undefined } : event) }',
    point: (events) => ({ kind: "inside", at: first(events, "decision-recorded", 3), answer: "retry" }),
    sees: /price .* ran with {"what":"100"} instead of {"what":"90"}/,
  },
  {
    name: "a decision that is sent again is not known again",
    file: "server/decide.ts",
    from: "if (record && wasRecorded(thread, writer, decision)) {",
    to: "if (record && !wasRecorded(thread, writer, decision)) {",
    point: (events) => ({ kind: "inside", at: first(events, "decision-recorded"), answer: "retry" }),
    sees: /a decision was refused: .*decided/,
  },
  {
    name: "an append whose reply was lost is sent again as another batch",
    file: "server/drive.ts",
    from: "engine.store.append(id, { at: known.seq }, append)",
    to: "engine.store.append(id, { at: known.seq }, { ...append, batch: engine.newId() })",
    point: (events) => ({ kind: "lost", at: first(events, "text-added"), answer: "retry" }),
    sees: /its turns say \["Turn 1\. Turn 1\. /,
  },
];

/** Seq of the nth event of a kind. */
function first(events: readonly ThreadEvent[], type: ThreadEvent["type"], nth = 1): number {
  return events.filter((event) => event.type === type)[nth - 1]?.seq ?? 0;
}

const long = process.env.TOOLRUN_LONG === "1";
/** Three of them show that the checks can fail; the others are for the long tests. */
const planted = long ? faults : faults.slice(0, 3);

describe.skipIf(!(await hasRedis("faults planted into a server that is killed")))("the deaths at every event", () => {
  let redis: RedisServer;
  let calm: Outcome;
  beforeAll(async () => {
    redis = await startRedis();
    calm = await onStage("undisturbed", undefined, (stage) => stage.undisturbed());
  }, 120_000);
  afterAll(async () => {
    await redis?.close();
    await removeBuilds();
  });

  async function onStage<Result>(
    name: string,
    replacement: Replacement | undefined,
    work: (stage: Stage) => Promise<Result>,
  ): Promise<Result> {
    const file = await buildFile(new URL("./crash-process.ts", import.meta.url), name, replacement);
    const stage = await openStage(file, redis.url, 1);
    try {
      return await work(stage);
    } finally {
      await stage.close();
    }
  }

  test("have nothing to say of a sound server at the points of the faults", async () => {
    await onStage("sound", undefined, async (stage) => {
      const points = planted.map(({ point }) => point(calm.events));
      expect((await stage.crash(points)).flatMap(({ wrong }) => wrong)).toEqual([]);
    });
  }, 120_000);

  test.each(planted)(
    "show that $name",
    async ({ name, point, sees, ...replacement }) => {
      const { events } = calm;
      const [outcome] = await onStage(name, replacement, (stage) => stage.crash([point(events)]));
      expect(outcome?.wrong.filter((text) => sees.test(text))).not.toEqual([]);
    },
    60_000,
  );
});
