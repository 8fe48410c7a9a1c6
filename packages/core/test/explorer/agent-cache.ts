import type { Agent } from "../../src/agent/agent.ts";
import type { Subject, Workplace } from "./agents.ts";
import { makeAgent } from "./agents.ts";
import type { Scenario } from "./scenario.ts";

/** Agents by server name, used again by every world of a scenario: only one world runs at a time. */
export interface AgentCache {
  agentOf(server: string, place: () => Workplace): Agent;
}

export function createAgentCache(subject: Subject, scenario: Scenario): AgentCache {
  const agents = new Map<string, { readonly agent: Agent; place: () => Workplace }>();
  return {
    agentOf(server, place) {
      const known = agents.get(server);
      if (known) {
        known.place = place;
        return known.agent;
      }
      const entry: { readonly agent: Agent; place: () => Workplace } = {
        place,
        agent: makeAgent(subject, scenario, () => entry.place()),
      };
      agents.set(server, entry);
      return entry.agent;
    },
  };
}
