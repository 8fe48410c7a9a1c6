/** Rules no schedule of this explorer can break, and where they are looked at instead. */
export const notCovered: Readonly<Record<string, string>> = {
  A13: "needs a request with a time limit: servers here have none",
  A15: "active time is a number, not an order of events: the reducer's tests look at it",
  A18: "followers' frames and cursors: the store's conformance suite and the client's tests",
  A19: "one version of the code drives here",
  A20: "nobody removes a thread here: the store's conformance suite",
  A22: "a property of the digest alone",
};
