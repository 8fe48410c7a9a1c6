import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = join(import.meta.dirname, "../../src");
/** Rooms where something happens; the others only write, read or show the state. */
const ROOMS = ["agent", "loop", "model", "server", "store"];
const ONLY = "loop/next-action.ts";

/** A run's status in a condition: `run.status === …`, `root?.status`, `active[0].status`, `{ status } = run`. */
const READS_RUN_STATUS =
  /\b(?:run|root|each|child|parent)\??\.status\b|\bactive\[0\]\??\.status\b|\{[^}]*\bstatus\b[^}]*\} = (?:run|root)\b/;

function readers(sources: readonly (readonly [file: string, text: string])[]): readonly string[] {
  return sources
    .filter(([, text]) => text.split("\n").some((line) => READS_RUN_STATUS.test(line) && !isRow(line)))
    .map(([file]) => file);
}

/** The list row of a thread holds the status; nothing is decided there. */
function isRow(line: string): boolean {
  return line.includes("const status = root ? root.status :");
}

function sources(): readonly (readonly [string, string])[] {
  return ROOMS.flatMap((room) =>
    readdirSync(join(SRC, room)).map(
      (file) => [`${room}/${file}`, readFileSync(join(SRC, room, file), "utf8")] as const,
    ),
  );
}

describe("what happens next is decided in one place", () => {
  test("only nextAction's file looks at a run's status", () => {
    expect(readers(sources())).toEqual([ONLY]);
  });

  test.each([
    'if (run.status === "waiting") return;',
    'if (root?.status !== "running") await wake();',
    "switch (thread.active[0]?.status) {",
    "const { runId, status } = run;",
  ])("another file that does is found: %s", (line) => {
    expect(readers([["server/other.ts", line]])).toEqual(["server/other.ts"]);
  });
});
