import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { projectThread } from "../../src/protocol/project.ts";
import { eventSchemas } from "../../src/protocol/schemas.ts";
import { serialiseEvent } from "../../src/protocol/stored-event.ts";
import { viewThread } from "../../src/protocol/view-thread.ts";
import { fold, plain } from "../protocol/fold.ts";
import { buildGoldenLog, GOLDEN_LOGS, goldenLogFile, readGoldenLog } from "./golden-logs.ts";

// TOOLRUN_UPDATE_LOGS=1 writes the files anew: a change of the protocol shows as their diff.
if (process.env.TOOLRUN_UPDATE_LOGS === "1") {
  for (const name of GOLDEN_LOGS) {
    const events = buildGoldenLog(name);
    writeFileSync(goldenLogFile(`${name}.jsonl`), `${events.map(serialiseEvent).join("\n")}\n`);
    const view = viewThread(projectThread(fold(events)));
    writeFileSync(goldenLogFile(`${name}.view.json`), `${JSON.stringify(view, null, 2)}\n`);
  }
}

describe.each(GOLDEN_LOGS)("the log %s", (name) => {
  const events = readGoldenLog(name);

  test("is what is written today", () => {
    expect(events).toEqual(plain(buildGoldenLog(name)));
  });

  test("obeys the protocol", () => {
    for (const event of events) expect(eventSchemas[event.type].safeParse(event).error?.issues).toBeUndefined();
    expect(fold(events)).toMatchObject({ anomalies: 0, unknown: false, driverId: null, active: [] });
  });

  test("shows what its view file has", () => {
    const expected: unknown = JSON.parse(readFileSync(goldenLogFile(`${name}.view.json`), "utf8"));
    expect(plain(viewThread(projectThread(fold(events))))).toEqual(expected);
  });
});
