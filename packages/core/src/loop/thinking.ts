import type { Thread } from "../protocol/thread.ts";
import type { Action } from "./action.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Intents } from "./intents.ts";

/**
 * Rules of the app that take their time. What happens meanwhile goes into the log, a stop is heard, and a write of
 * somebody else does not ask them twice: the answer waits for the same question.
 */
export interface Thinking {
  /** What an action puts into the log; undefined while a rule still thinks. Throws what the rule threw. */
  intents(action: Action, thread: Thread, ask: () => Intents | Promise<Intents>): Intents | undefined;
}

interface Thought {
  readonly question: string;
  /** What people had remembered when the rules were asked. */
  readonly remembered: string;
  answer?: { readonly intents: Intents } | { readonly error: unknown } | undefined;
}

const NOTHING: Intents = { drafts: [], starts: [] };

export function createThinking(queue: EventQueue): Thinking {
  let thought: Thought | undefined;
  return {
    intents(action, thread, ask) {
      const question = questionOf(action, thread);
      if (question === undefined) return ask() as Intents; // only rules take time
      if (thought?.question !== question || thought.remembered !== rememberedIn(thread)) {
        const made = ask();
        if (!(made instanceof Promise)) return made;
        const begun: Thought = { question, remembered: rememberedIn(thread) };
        thought = begun;
        const end = (answer: Thought["answer"]): void => {
          begun.answer = answer;
          queue.push(); // look again
        };
        made.then(
          (intents) => end({ intents }),
          (error: unknown) => end({ error }),
        );
      }
      const { answer } = thought;
      if (!answer) return undefined;
      thought = undefined;
      if ("error" in answer) throw answer.error;
      return answer.intents ?? NOTHING;
    },
  };
}

/** Grants come, go and are used up; denials only come. */
function rememberedIn({ grants, active: [root] }: Thread): string {
  return [...grants.map(({ grantId, used }) => `${grantId} ${used}`), root?.denials.length].join();
}

/** Names what is asked: the same calls with the same input, the same turn, or another turn with the same messages. */
function questionOf(action: Action, { messages }: Thread): string | undefined {
  if (action.type === "call-model") {
    const { run, turn, attempt } = action;
    return `next ${run.runId} ${turn} ${attempt} ${messages.length}`;
  }
  if (action.type === "judge-turn") return `turn ${action.run.runId} ${action.turn.turn}`;
  if (action.type !== "judge") return undefined;
  return action.calls.map(({ callId, digest }) => `${callId} ${digest}`).join();
}
