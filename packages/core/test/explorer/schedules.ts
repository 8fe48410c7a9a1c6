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
