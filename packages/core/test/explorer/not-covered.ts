/** Rules no schedule of this explorer can break, and the tests that prove them instead. */
export const notCovered: Readonly<Record<string, string>> = {
  A13: "needs a request with a time limit: [A13] of server/budget.test.ts",
  A15: "active time is a number, not an order of events: [A15] of protocol/reduce-thread.test.ts and server/protocol-rows.test.ts",
  A18: "followers' frames and cursors: [A18] of server/events.test.ts and protocol/frame.test.ts",
  A19: "one version of the code drives here: [A19] of server/protocol-rows.test.ts",
  A20: "nobody removes a thread here: [A20] of server/events.test.ts, http.test.ts and races.test.ts, and the store's suite",
  A22: "a property of the digest alone: [A22] of server/protocol-rows.test.ts",
};
