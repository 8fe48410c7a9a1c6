import { describe, expect, test } from "vitest";
import { eventsOf, parseFrame, reduceFrame, toFrame } from "../../src/protocol/frame.ts";
import { projectEvent } from "../../src/protocol/project.ts";
import { plain } from "./fold.ts";
import { LogBuilder } from "./log-builder.ts";

const log = new LogBuilder().begin("Hi").turn(1, "Hello", { "find-1": 1 });
const seen = log.events.flatMap((event) => projectEvent(event) ?? []);

describe("frames", () => {
  test("say once what does not change: run, time, and seqs that follow one by one", () => {
    const text = { type: "text-added", turn: 1, attempt: 1, text: "a" } as const;
    const first = { type: "text-added", turn: 1, text: "a" }; // a first attempt goes without saying
    const events = [4, 5, 7].map((seq) => ({ ...text, seq, at: seq === 7 ? 20 : 10, v: 1, runId: "r" }));
    expect(toFrame(3, 8, 10, events)).toEqual({
      ...{ from: 3, to: 8, at: 10, runId: "r" },
      events: [{ ...first, seq: 4 }, first, { ...first, seq: 7, at: 20 }],
    });
  });

  test("give back the events they were made of, those of no run and of other versions too", () => {
    const mixed = seen.map((event, index) => (index === 2 ? { ...event, v: 2 } : event));
    const frame = parseFrame(JSON.stringify(toFrame(1, log.thread.seq, log.thread.at, mixed)));
    expect(frame && eventsOf(frame)).toEqual(plain(mixed));
  });

  test("[A18] a range without a visible event still moves the reader on", () => {
    const { seq, at } = log.thread;
    const next = reduceFrame(log.thread, toFrame(seq + 1, seq + 3, at + 5, []));
    expect(next).toMatchObject({ seq: seq + 3, at: at + 5 });
    expect(next && { ...next, seq, at }).toEqual(log.thread);
  });

  test.each([
    "",
    "[]",
    "null",
    "3",
    '{"from":1,"to":2,"at":3}',
    '{"from":"1","to":2,"at":3,"events":[]}',
    '{"from":1.5,"to":2,"at":3,"events":[]}',
    '{"from":1,"to":2,"at":3,"events":{}}',
    '{"from":1,"to":2,"at":3,"events":[null]}',
    '{"from":1,"to":2,"at":3,"events":[{}]}',
    '{"from":1,"to":2,"at":3,"events":[{"type":"x","seq":"1"}]}',
    '{"from":1,"to":2,"at":3,"events":[{"type":7}]}',
    '{"from":3,"to":2,"at":3,"events":[]}',
    '{"from":1,"to":2,"at":3,"events":[{"type":"x"},{"type":"x"},{"type":"x"}]}',
    '{"from":1,"to":2,"at":3,"events":[{"type":"x","seq":2},{"type":"x","seq":1}]}',
  ])("%j is no frame", (text) => {
    expect(parseFrame(text)).toBeUndefined();
  });
});
