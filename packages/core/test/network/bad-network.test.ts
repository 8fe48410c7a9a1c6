import { expect, test } from "vitest";
import { buildClient } from "./build-client.ts";
import { startBusyServer } from "./busy-server.ts";
import { runSchedule } from "./schedule.ts";

const COUNT = Number(process.env.SCHEDULES ?? (process.env.TOOLRUN_LONG === "1" ? 1_000 : 40));
const FIRST = Number(process.env.FIRST_SEED ?? 1);
/** Most of a schedule is waiting. */
const AT_ONCE = 10;

test(`${COUNT} schedules of a bad network lose nothing, double nothing and leave nothing behind`, async () => {
  const code = await buildClient();
  const servers = await Promise.all([startBusyServer(), startBusyServer({ short: true })]);
  const faults: Record<string, number> = {};
  const wrong: string[] = [];
  const sums = { shown: 0, events: 0 };
  let next = FIRST;
  const work = async (): Promise<void> => {
    while (next < FIRST + COUNT) {
      const seed = next++;
      const server = servers[seed % 2] as (typeof servers)[0]; // there are two
      const outcome = await runSchedule({ code, server, seed });
      wrong.push(...outcome.wrong.map((text) => `seed ${seed}: ${text}`));
      sums.shown += outcome.shown;
      sums.events += outcome.events;
      for (const [name, count] of Object.entries(outcome.faults)) faults[name] = (faults[name] ?? 0) + count;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const errors = servers.flatMap(({ errors }) => errors).filter((error) => !String(error).includes("try again"));
  await Promise.all(servers.map((server) => server.close()));
  console.info(JSON.stringify({ schedules: COUNT, ...sums, faults }));
  expect(wrong).toEqual([]);
  expect(errors).toEqual([]);
  expect(Object.keys(faults).length).toBeGreaterThanOrEqual(COUNT < 100 ? 12 : 16);
}, 3_600_000);
