import { describe, expect, it } from "vitest";
import { replay } from "./explore.ts";
import { scenarioOf } from "./scenarios.ts";
import { BEYOND_ITS_FIRST_END, ENDS_BEHIND_THE_NEXT, INTERRUPTED_ON_B, SUPERSEDED_AT_THE_END } from "./schedules.ts";
import * as subject from "./subject.ts";
import type { World } from "./world.ts";

describe("schedules that once went wrong", () => {
  it("a deposed driver appends nothing after the new owner ended the run", async () => {
    const world = await replay(subject, scenarioOf("approved, with takeover"), SUPERSEDED_AT_THE_END);
    expect(world.violations).toEqual([]);
    expect(outcomes(world)).toEqual(["completed"]);
  });

  it("a late result of an interrupted call lets the run go on", async () => {
    const world = await replay(subject, scenarioOf("approved, with takeover"), [
      ...INTERRUPTED_ON_B,
      ...["append call-interrupted", "B tool"],
    ]);
    expect(world.violations).toEqual([]);
    expect(outcomes(world)).toEqual(["completed"]);
  });

  it("a driver that ends does not hide the next one of its process from who writes", async () => {
    const scenario = scenarioOf("stop a silent tool on its own server");
    const world = await replay(subject, scenario, ENDS_BEHIND_THE_NEXT);
    const at = (type: string): number | undefined => world.log.events.find((event) => event.type === type)?.at;
    expect(world.violations).toEqual([]);
    expect(at("run-ended")).toBe(at("stop-requested"));
  });

  it("a store that cannot be reached for longer than a lease does not end the run", async () => {
    const world = await replay(subject, scenarioOf("text only"), [
      "A.6 append text-added",
      "pause",
      "late: A.7 append",
    ]);
    expect(world.violations).toEqual([]);
    expect(outcomes(world)).toEqual(["completed"]);
  });

  it("the same approval sent again after its call was interrupted gets the same answer", async () => {
    const world = await replay(subject, scenarioOf("an interrupted call is tried again"), [
      ...INTERRUPTED_ON_B,
      ...["append call-interrupted", "person 1 approve yes again"],
    ]);
    expect(world.violations).toEqual([]);
    expect(world.answers.map(({ key, outcome }) => `${key} ${outcome}`)).toContain("yes ok");
  });

  it("the same wish to try again, sent again after the second attempt was interrupted, starts no third", async () => {
    const world = await replay(subject, scenarioOf("an interrupted call is tried again"), [
      ...[...INTERRUPTED_ON_B, "append call-interrupted", "person 1 retry retry", "append call-started"],
      ...["pause", "look on A", "append call-interrupted", "person 1 retry retry again"],
    ]);
    expect(world.violations).toEqual([]);
    expect(world.executions.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it("a step whose grant is taken back while nobody drives is asked about by whoever looks next", async () => {
    const scenario = scenarioOf("taken back before its start, and nobody drives posts");
    const world = await replay(subject, scenario, ["look on A", "append turn-ended", "person 1 approve"]);
    expect(world.violations).toEqual([]);
    expect(world.log.thread.active[0]?.turn?.calls.map(({ status }) => status)).toEqual([
      "queued",
      "waiting",
      "waiting",
    ]);
  });

  it("a question that was given more time takes an approval behind its first end", async () => {
    const scenario = scenarioOf("more time for a question of 40 seconds");
    const world = await replay(subject, scenario, BEYOND_ITS_FIRST_END);
    expect(world.violations).toEqual([]);
    expect(outcomes(world)).toEqual(["completed"]);
  });
});

function outcomes({ log }: World): readonly (string | undefined)[] {
  return log.thread.runs.map((run) => run.outcome);
}
