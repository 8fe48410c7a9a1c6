import type { ThreadEvent } from "./event.ts";
import { turnWith } from "./one-shape.ts";
import type { Turn, TurnPart } from "./thread.ts";

/** The events of a model call; undefined when the transition is not legal. */
export function reduceTurn(turn: Turn, event: ThreadEvent): Turn | undefined {
  if (turn.status !== "open" || !("attempt" in event) || event.attempt !== turn.attempt) return undefined;
  if (!("turn" in event) || event.turn !== turn.turn) return undefined;
  switch (event.type) {
    case "text-added":
      return turnWith(turn, { parts: addText(turn.parts, event.kind ?? "text", event.text) });
    case "part-added":
      return turnWith(turn, { parts: [...turn.parts, event.part] });
    case "turn-ended": {
      const { finishReason, usage, opaque } = event;
      return turnWith(turn, { status: "ended", endedAt: event.at, finishReason, usage, opaque });
    }
    case "attempt-failed":
      return turnWith(abandonTurn(turn, event.at), { error: event.error, retryAt: event.retryAt });
    default:
      return undefined;
  }
}

/** A model call that broke off: its text stays to be read, its half-written calls never were calls. */
export function abandonTurn(turn: Turn, at: number): Turn {
  if (turn.status !== "open") return turn;
  return turnWith(turn, { status: "failed", endedAt: at, calls: [], parts: withoutParts(turn.parts, "call") });
}

/** Parts without those of one type; texts that come to stand side by side become one, as if it had never been there. */
export function withoutParts(parts: readonly TurnPart[], type: "call" | "reasoning"): readonly TurnPart[] {
  const kept: TurnPart[] = [];
  for (const part of parts) {
    const last = kept.at(-1);
    if (part.type === type) continue;
    if ((part.type === "text" || part.type === "reasoning") && last?.type === part.type) {
      kept[kept.length - 1] = { type: part.type, text: last.text + part.text };
    } else kept.push(part);
  }
  return kept;
}

function addText(parts: readonly TurnPart[], type: "text" | "reasoning", text: string): readonly TurnPart[] {
  const last = parts.at(-1);
  if (last?.type === type) return parts.with(-1, { type, text: last.text + text });
  return [...parts, { type, text }];
}
