// What is measured, beside what, and how much is allowed (the budgets of the design, as multiples of the limit).
// `value` and `limit` name a measurement of measurements.mjs, its subject and the number of its result.
const at = (measurement, subject, number) => ({ measurement, subject, number });

export const benches = [
  {
    name: "B1 loop, 50 turns × 4 calls",
    unit: "µs/turn",
    value: at("loop", "toolrun", "perTurn"),
    limit: at("loop", "floor", "perTurn"),
    times: 12,
  },
  {
    name: "B1w the same to Response bytes",
    unit: "µs/turn",
    value: at("wire", "toolrun", "perTurn"),
    limit: at("wire", "floor", "perTurn"),
    times: 4,
  },
  {
    name: "B1w bytes on the wire",
    unit: "bytes/call",
    value: at("wire", "toolrun", "bytesPerCall"),
    limit: at("wire", "floor", "bytesPerCall"),
    atMost: 400,
  },
  {
    name: "B2 20,000 text deltas to Response bytes",
    unit: "µs/delta",
    value: at("deltas", "toolrun", "perDelta"),
    limit: at("deltas", "floorJoin", "perDelta"),
    times: 2,
  },
  {
    name: "B2 bytes on the wire",
    unit: "bytes/delta",
    value: at("deltas", "toolrun", "bytesPerDelta"),
    limit: at("deltas", "floorJoin", "bytesPerDelta"),
    atMost: 31,
  },
  {
    name: "B6 first byte of a followed thread over HTTP",
    unit: "ms",
    value: at("firstByte", "toolrun", "stream"),
    limit: at("firstByte", "floor", "stream"),
    times: 1.3,
  },
  {
    name: "B6 the same from the message that begins the run",
    unit: "ms",
    value: at("firstByte", "toolrun", "message"),
    limit: at("firstByte", "floor", "message"),
  },
  {
    name: "B5 heap of a thread that waits, memory store",
    unit: "KiB/run",
    value: at("waiting", "toolrun", "heapKbPerRun"),
    atMost: 8,
  },
  { name: "fold of 10,000 text events", unit: "ms", value: at("fold", "toolrun", "ms") },
  { name: "decode of 10,000 frames in 1-byte chunks", unit: "ms", value: at("decode", "1", "ms") },
  { name: "decode of 10,000 frames in 64-byte chunks", unit: "ms", value: at("decode", "64", "ms") },
  { name: "decode of 10,000 frames in 1,024-byte chunks", unit: "ms", value: at("decode", "1024", "ms") },
];
