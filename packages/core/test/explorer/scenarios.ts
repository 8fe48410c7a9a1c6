import type { Post, Scenario } from "./scenario.ts";

const SEND: Post = { act: "send", key: "hello", to: ["A", "B"] };

export const scenarios: readonly Scenario[] = [
  {
    name: "one call approved",
    servers: ["A", "B"],
    tools: { pay: {} },
    calls: ["pay"],
    people: [[SEND, { act: "approve", key: "yes", to: ["B", "A"] }]],
    follows: 1,
  },
];
