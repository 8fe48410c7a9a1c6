import type { AgentPlan, AnswerPlan } from "./plan.ts";
import { nameOf } from "./planned-model.ts";

/** What an answer adds up to. */
export interface ExpectedTurn {
  /** False: it breaks off, so the attempt fails. */
  readonly whole: boolean;
  readonly text: string;
  readonly reasoning: string;
  readonly sources: number;
  readonly calls: readonly ExpectedCall[];
  /** Calls that a last answer must drop. */
  readonly stray: boolean;
  readonly reason: string;
  readonly tokens: number | null;
  /** Its longest silence. */
  readonly silenceMs: number;
}

interface ExpectedCall {
  /** As it says when it is whole. */
  name: string;
  /** What is written of the arguments before they are whole. */
  draft: string;
  input: string;
  complete: boolean;
}

/** Reads an answer's plan as a model's consumer should: up to the first end, each id one call, nothing half. */
export function expectedTurn(answer: AnswerPlan, agent: AgentPlan, toolsOff: boolean): ExpectedTurn {
  const calls = new Map<string, ExpectedCall>();
  const turn = { text: "", reasoning: "", sources: 0, stray: false, silenceMs: 0 };
  let silent = 0;
  const propose = (id: string, name: string): ExpectedCall | undefined => {
    turn.stray ||= toolsOff;
    if (toolsOff) return undefined;
    const known = calls.get(id) ?? { name, draft: "", input: "", complete: false };
    calls.set(id, known);
    return known;
  };
  const finish = (end?: { readonly reason: string; readonly tokens: number | null }): ExpectedTurn => ({
    ...turn,
    calls: [...calls.values()],
    whole: end !== undefined && [...calls.values()].every(({ complete }) => complete),
    reason: end?.reason ?? "",
    tokens: end?.tokens ?? null,
  });
  for (const part of answer.parts) {
    if (part.type === "wait") silent += part.ms;
    else silent = 0;
    turn.silenceMs = Math.max(turn.silenceMs, silent);
    switch (part.type) {
      case "text":
      case "reasoning":
        turn[part.type] += part.text;
        break;
      case "source":
        turn.sources++;
        break;
      case "call-start":
        propose(part.id, nameOf(part.tool, agent));
        break;
      case "call-input": {
        const call = calls.get(part.id);
        if (call && !call.complete) call.draft += part.text;
        break;
      }
      case "call": {
        const name = nameOf(part.tool, agent);
        const known = calls.get(part.id);
        // One id for two calls: what differs is another call, what is the same was said twice.
        if (known?.complete && known.name === name && known.input === part.input) break;
        const call = propose(known?.complete ? `${part.id}#${calls.size}` : part.id, name);
        if (!call) break;
        call.name = name;
        call.input = part.input;
        call.complete = true;
        break;
      }
      case "end":
        return finish(part);
      case "hang":
        turn.silenceMs = Number.POSITIVE_INFINITY;
        return finish();
      case "cut":
      case "fail":
        return finish();
      default:
        break;
    }
  }
  return finish();
}
