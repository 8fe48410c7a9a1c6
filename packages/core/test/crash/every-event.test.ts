import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFile, removeBuilds } from "../build-mutant.ts";
import type { Service } from "../cluster/services.ts";
import { services } from "../cluster/services.ts";
import type { Outcome, Stage } from "./crash.ts";
import { openStage } from "./crash.ts";
import type { Kind, Point } from "./point.ts";
import { ANSWERS, pointAt } from "./point.ts";

const long = process.env.TOOLRUN_LONG === "1";
const seed = Number(process.env.TOOLRUN_SEED ?? 0);
const kinds = await services("a server killed after every event of a run");

let file = "";
beforeAll(async () => {
  file = await buildFile(new URL("./crash-process.ts", import.meta.url), "crash-process");
});
afterAll(removeBuilds);

describe.each(kinds)("a server that is killed at every event of a run, on $name", ({ name, isThere, start }) => {
  let service: Service;
  let stage: Stage;
  let calm: Outcome;
  beforeAll(async () => {
    if (!isThere) return;
    service = await start();
    stage = await openStage(file, service.url);
    calm = await stage.undisturbed();
  }, 60_000);
  afterAll(async () => {
    await stage?.close();
    await service?.stop();
  });

  test.skipIf(!isThere)("plays its script when nothing happens to it", () => {
    expect(calm.wrong).toEqual([]);
    expect(calm.effects).toBe(9);
  });

  test.skipIf(!isThere)(
    "leaves a run that ends right: nothing twice, nothing denied, nothing lost",
    async () => {
      const points = long ? allPoints(calm) : somePoints(calm, name === "Redis" ? 0 : 1);
      const begin = performance.now();
      const outcomes = await stage.crash(points);
      const seconds = Math.round((performance.now() - begin) / 1_000);
      const { events, appends, effects } = calm;
      const size = `${events.length} events, ${appends.length} appends, ${effects} effects`;
      console.log(`${name}: ${points.length} points (${countsOf(points)}) in a run of ${size}; ${seconds} s`);
      expect(outcomes.flatMap(({ wrong }) => wrong)).toEqual([]);
      expect(outcomes).toHaveLength(points.length);
    },
    1_800_000,
  );
});

/** Every way to die at every event, and every answer where a tool was cut off behind its effect. */
function allPoints({ events, effects }: Outcome): readonly Point[] {
  const ways: readonly Kind[] = ["before", "inside", "after", "lost"];
  return [
    ...ways.flatMap((kind) => events.map(({ seq }) => pointAt(kind, seq))),
    ...upTo(effects).flatMap((at) => ANSWERS.map((answer): Point => ({ kind: "effect", at, answer }))),
  ];
}

/**
 * A batch is there or not, so its last event stands for all. Every third append and effect on Redis, every sixth on
 * PostgreSQL, other ones with another TOOLRUN_SEED; the ways to die go round.
 */
function somePoints({ appends, effects }: Outcome, store: number): readonly Point[] {
  const ways = ["inside", "after", "before"] as const;
  const stride = store === 0 ? 3 : 6;
  const isMine = (_: unknown, index: number): boolean => index % stride === (seed + store) % stride;
  return [
    ...appends.filter(isMine).map((seq, index) => pointAt(ways[index % ways.length] ?? "inside", seq)),
    ...upTo(effects)
      .filter(isMine)
      .map((at) => pointAt("effect", at)),
  ];
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function countsOf(points: readonly Point[]): string {
  const all = points.map(({ kind }) => kind);
  return [...new Set(all)].map((kind) => `${kind} ${all.filter((each) => each === kind).length}`).join(", ");
}
