import { describe, expect, test } from "vitest";
import type { Connection, ConnectionEvent, ConnectionStatus } from "../../src/client/connection-state.ts";
import { nextConnection } from "../../src/client/connection-state.ts";
import { nextDelay } from "../../src/client/next-delay.ts";

type Kind = ConnectionEvent["type"];
const KINDS: readonly Kind[] = ["open", "opened", "moved", "lost", "offline", "rest", "removed", "closed"];
const event = (type: Kind): ConnectionEvent => (type === "lost" ? { type, nextAt: 9 } : { type });

/** From each status, with two failed tries behind it, by each event of KINDS. */
const table: Readonly<Record<ConnectionStatus, readonly string[]>> = {
  idle: ["reconnecting 2", "live 2", "live", "reconnecting 3 @9", "offline 2", "idle", "removed", "closed"],
  connecting: ["reconnecting 2", "live 2", "live", "reconnecting 3 @9", "offline 2", "idle", "removed", "closed"],
  live: ["reconnecting 2", "live 2", "live", "reconnecting 3 @9", "offline 2", "idle", "removed", "closed"],
  reconnecting: ["reconnecting 2", "live 2", "live", "reconnecting 3 @9", "offline 2", "idle", "removed", "closed"],
  offline: ["reconnecting 2", "live 2", "live", "reconnecting 3 @9", "offline 2", "idle", "removed", "closed"],
  removed: [...Array<string>(7).fill("removed 2"), "closed"],
  closed: Array<string>(8).fill("closed 2"),
};

const show = ({ status, attempt, nextAt }: Connection): string =>
  [status, attempt, nextAt === undefined ? undefined : `@${nextAt}`].filter((part) => part !== undefined).join(" ");

describe("nextConnection", () => {
  const rows = Object.entries(table).flatMap(([status, row]) =>
    row.map((expected, index) => [status as ConnectionStatus, KINDS[index] ?? "rest", expected] as const),
  );

  test.each(rows)("%s, %s → %s", (status, type, expected) => {
    expect(show(nextConnection({ status, attempt: 2 }, event(type)))).toBe(expected);
  });

  test("a first try connects, a later one reconnects", () => {
    expect(nextConnection({ status: "idle" }, { type: "open" })).toEqual({ status: "connecting" });
    expect(nextConnection({ status: "idle" }, { type: "lost", nextAt: 5 })).toEqual({
      status: "reconnecting",
      attempt: 1,
      nextAt: 5,
    });
  });

  test("what changes nothing gives the same object", () => {
    const live: Connection = { status: "live" };
    expect(nextConnection(live, { type: "opened" })).toBe(live);
    expect(nextConnection(live, { type: "moved" })).toBe(live);
  });
});

describe("nextDelay", () => {
  test.each([
    [1, 250, 500],
    [2, 500, 1_000],
    [3, 1_000, 2_000],
    [6, 7_500, 15_000],
    [60, 7_500, 15_000],
  ])("after %i failed tries: %i to %i ms", (attempt, least, most) => {
    expect(nextDelay(attempt, 0)).toBe(least);
    expect(nextDelay(attempt, 1)).toBe(most);
  });
});
