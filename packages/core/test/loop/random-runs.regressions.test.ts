import { beforeAll, describe, expect, it } from "vitest";
import { checkRun } from "./random/check-run.ts";
import { regressions } from "./random/regressions.ts";
import * as subject from "./random/subject.ts";
import { play, warmUp } from "./random/world.ts";

beforeAll(() => warmUp(subject));

describe("what random runs found", () => {
  it.each(Object.entries(regressions))("%s", async (_, plan) => {
    expect(checkRun(await play(subject, plan)).violations).toEqual([]);
  });
});
