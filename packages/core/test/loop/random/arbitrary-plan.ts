import fc from "fast-check";
import { arbitraryActs } from "./arbitrary-act.ts";
import { arbitraryAgent } from "./arbitrary-agent.ts";
import type { Plan, ServerPlan } from "./plan.ts";

const server: fc.Arbitrary<ServerPlan> = fc.record({
  latencies: fc.oneof(fc.constant([0]), fc.array(fc.constantFrom(0, 1, 5, 40, 700), { minLength: 1, maxLength: 6 })),
  breath: fc.constantFrom(0, 1, 5, 40),
  maxRequestMs: fc.constantFrom(null, null, null, 120_000),
});

/** Any plan there is. */
export const arbitraryPlan: fc.Arbitrary<Plan> = fc.record({
  agent: arbitraryAgent(0),
  server,
  acts: arbitraryActs,
});
