/** The call's tool runs on B when B is paused for longer than its lease; A looks, and takes the run over. */
export const INTERRUPTED_ON_B: readonly string[] = [
  "person 1 approve yes",
  "B.4 append call-started",
  "pause",
  "look on A",
];

/** B has text in hand when it wakes, and A has ended the run meanwhile. */
export const SUPERSEDED_AT_THE_END: readonly string[] = [
  ...["B.6 append text-added", "look on A", "A.8 read", "pause"],
  ...["A.9 append run-resumed", "A.14 append", "B model 2"],
];

/** B's start is in the log, and B sleeps past its lease before it knows; A interrupts the call meanwhile. */
export const ASLEEP_BEFORE_THE_START: readonly string[] = [
  ...["slow: B.4 append call-started", "pause", "look on A", "A.7 read", "A.8 read", "A.9 append run-resumed"],
  ...["A.10 append call-interrupted", "answer B.4"],
];

/** The first attempt ends on B after a second one, that a person wished for, succeeded. */
export const LATE_AFTER_ANOTHER_ATTEMPT: readonly string[] = [
  ...INTERRUPTED_ON_B,
  ...["append call-interrupted", "person 1 retry", "append call-started", "tool A-6#2", "append call-settled"],
  "B tool A-6#1",
];

/** A's first driver learns that its last append arrived when the next one of A is at work. */
export const ENDS_BEHIND_THE_NEXT: readonly string[] = [
  ...["slow: A.6 append", "person 1 approve", "A.7 read", "A.8 read", "A.9 append", "A.10 append call-started"],
  ...["answer A.6", "person 2 stop"],
];

/** Half a minute after the question, more time; half a minute later, when its first end is over, an approval. */
export const BEYOND_ITS_FIRST_END: readonly string[] = [
  ...["append turn-ended", "pause", "person 1 extend", "append decision-extended", "pause", "person 1 approve"],
];
