import type { Agent } from "../agent/agent.ts";
import { shapeResult } from "../model/shape-result.ts";
import type { Call } from "../protocol/thread.ts";
import type { Json } from "../protocol/values.ts";
import { encodeResult } from "./encode-result.ts";

/**
 * What the model reads of a result that no tool here returned: an answer of a person, a browser or a sub-agent.
 * Undefined where it reads the output itself. `extract` is for tools: here somebody waits for the answer.
 */
export function givenResult(
  output: Json,
  { tool, input }: Call,
  { results }: Pick<Agent, "results">,
  onError: (error: unknown) => void,
): Json | undefined {
  const work = { tool, input, question: "", encode: encodeResult, onError };
  const shaped = shapeResult(output, work, { ...results, extract: undefined });
  return shaped instanceof Promise ? undefined : shaped; // without `extract` it never is one
}
