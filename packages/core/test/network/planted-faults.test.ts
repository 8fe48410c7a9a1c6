import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Replacement } from "../build-mutant.ts";
import { buildClient } from "./build-client.ts";
import type { BusyServer } from "./busy-server.ts";
import { startBusyServer } from "./busy-server.ts";
import { runSchedule } from "./schedule.ts";

const long = process.env.TOOLRUN_LONG === "1";

/** A rule of the client taken out, and what the schedules have to say of it. */
interface Fault extends Replacement {
  readonly name: string;
  readonly sees: RegExp;
}

const faults: readonly Fault[] = [
  {
    name: "text is decoded piece by piece",
    file: "client/connect.ts",
    from: "decoder.decode(value, { stream: true })",
    to: "new TextDecoder().decode(value)",
    sees: /it showed/,
  },
  {
    name: "what joins on is not looked at",
    file: "protocol/frame.ts",
    from: "if (frame.from > thread.seq + 1) return undefined;",
    to: "",
    sees: /it showed/,
  },
  {
    name: "frames that came already count again",
    file: "protocol/frame.ts",
    from: "if (frame.to <= thread.seq) return thread;",
    to: "",
    sees: /went back/,
  },
  {
    name: "damaged bytes are taken for text",
    file: "client/post.ts",
    from: 'new TextDecoder("utf-8", { fatal: true })',
    to: "new TextDecoder()",
    sees: /it showed/,
  },
  {
    name: "an older reading replaces a newer one",
    file: "client/thread-store.ts",
    from: "read.thread.seq > thread.seq",
    to: "read.thread.seq !== thread.seq",
    sees: /went back/,
  },
  {
    name: "a reset is not taken",
    file: "client/thread-store.ts",
    from: "if (read) adopt(read, Date.now(), read.thread.seq < seq);",
    to: "",
    sees: /never came/,
  },
  {
    name: "nobody minds a silent connection",
    file: "client/follow.ts",
    from: "if (Date.now() - heardAt > SILENCE_MS) current.abort();",
    to: "",
    sees: /never came/,
  },
  {
    name: "a failed try is followed by the next at once",
    file: "client/follow.ts",
    from: "const delay = online ? nextDelay(followed.attempt() + 1, Math.random()) : OFFLINE_RECHECK_MS;",
    to: "const delay = 0;",
    sees: /tries in/,
  },
  {
    name: "a clean end of a stream is taken for the end of the run",
    file: "client/follow.ts",
    from: 'if (goesOn === "stop") break;',
    to: 'if (goesOn === "stop" || want === "stream") break;',
    sees: /never came/,
  },
  {
    name: "a message is sent again with a new key",
    file: "client/post.ts",
    from: "before?.content === content ? before.key : newKey()",
    to: "newKey()",
    sees: /is there 2 times/,
  },
  {
    name: "an answer without content counts as done",
    file: "client/post.ts",
    from: "status === 204)",
    to: "status >= 200)",
    sees: /was said to be done|is there 0 times/,
  },
];

describe("the schedules of a bad network", () => {
  let server: BusyServer;
  beforeAll(async () => {
    server = await startBusyServer();
  });
  afterAll(() => server.close());

  // The first two need no luck; the others are for the long tests.
  test.each(long ? faults : faults.slice(0, 2))(
    "see that $name",
    async ({ name: _, sees, ...replacement }) => {
      const code = await buildClient(replacement);
      const wrong: string[] = [];
      const isSeen = (): boolean => wrong.some((text) => sees.test(text));
      for (let seed = 1; seed <= 200 && !isSeen(); seed += 8) {
        const seeds = Array.from({ length: 8 }, (_, index) => seed + index);
        const outcomes = await Promise.all(
          seeds.map((each) => runSchedule({ code, server, seed: each, withinMs: 120_000 })),
        );
        wrong.push(...outcomes.flatMap((outcome) => outcome.wrong));
      }
      expect(wrong.filter((text) => sees.test(text))).not.toEqual([]);
    },
    240_000,
  );
});
