import type { Agent } from "../agent/agent.ts";
import { toModels } from "../agent/models.ts";
import type { Model } from "../model/model.ts";

/** The same agent, with something between it and every model it asks, those of `prepareTurn` included. */
export function withModels(agent: Agent, wrap: (model: Model) => Model): Agent {
  const { models, prepareTurn } = agent;
  const wrapped = models.map(({ id, model }) => ({ id, model: wrap(model) }));
  if (!prepareTurn) return { ...agent, models: wrapped };
  return {
    ...agent,
    models: wrapped,
    async prepareTurn(context) {
      const said = await prepareTurn(context);
      if (!said?.model) return said;
      return { ...said, model: toModels(said.model).map(({ model }) => wrap(model)) };
    },
  };
}
