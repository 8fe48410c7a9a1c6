import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Call, Thread } from "../../src/protocol/thread.ts";
import { openAsk, rootOf } from "../../src/protocol/thread.ts";
import type { HttpUser } from "./http-user.ts";
import type { Random } from "./random.ts";
import type { Plan, Results, ToolName } from "./story.ts";
import { byHand, messageOf, NONE, ran } from "./story.ts";

/** A decision that a server accepted. */
export interface Accepted {
  readonly callId: string;
  readonly tool: ToolName;
  readonly action: "approve" | "deny" | "retry" | "skip" | "answer";
}

/** What a person did and saw. */
export interface Told {
  readonly threadId: string;
  readonly thread: Thread;
  readonly decisions: readonly Accepted[];
  /** Times it pressed "continue" after two cut-off model calls in a row. */
  readonly continued: number;
}

/** Begins a run, answers whatever it asks, and stays with it to its end. */
export async function beAPerson(
  user: HttpUser,
  plan: Plan,
  random: Random,
  onThread: (threadId: string) => void,
): Promise<Told> {
  const begun = await user.post("", { message: { text: messageOf(plan) }, key: `begin-${plan.run}` });
  const threadId: string = begun.body.threadId;
  if (begun.status !== 201) throw new Error(`The thread was not made: ${begun.status} ${JSON.stringify(begun.body)}`);
  onThread(threadId);
  const decisions: Accepted[] = [];
  let continued = 0;
  for (let look = 0; ; look++) {
    await sleep(random.between(60, 200));
    const { status, body } = await user.get(`/${threadId}`);
    if (status !== 200) throw new Error(`The thread cannot be read: ${status} ${JSON.stringify(body)}`);
    const thread: Thread = body.thread;
    if (rootOf(thread)) {
      for (const call of asking(thread)) {
        const accepted = await decide(user, threadId, call, random, `${call.callId}-${look}`);
        if (accepted) decisions.push(accepted);
      }
      continue;
    }
    const last = thread.runs.at(-1);
    if (last?.code !== "model-failed") return { threadId, thread, decisions, continued };
    await user.post(`/${threadId}/continue`, { runId: last.runId, key: `continue-${continued++}` });
  }
}

/** The calls that wait for a person, in the order of the log. */
export function asking(thread: Thread): readonly (Call & { readonly ask: Ask })[] {
  return thread.active
    .flatMap((run) => run.turn?.calls ?? [])
    .flatMap((call) => {
      const ask = openAsk(call);
      return ask ? [{ ...call, ask }] : [];
    });
}

async function decide(
  user: HttpUser,
  threadId: string,
  { callId, tool, ask }: Call & { readonly ask: Ask },
  random: Random,
  key: string,
): Promise<Accepted | undefined> {
  const name = tool as ToolName; // the agent has no other
  const action =
    ask.kind === "interrupted"
      ? random.one(["retry", "retry", "skip", "answer"] as const)
      : random.one(["approve", "approve", "approve", "deny"] as const);
  const value = action === "answer" ? byHand(name) : undefined;
  const decision = { callId, digest: ask.digest, action, value };
  const { status } = await user.post(`/${threadId}/decisions`, { decisions: [decision], key });
  return status === 200 ? { callId, tool: name, action } : undefined;
}

/** What has to come of the calls after these decisions. */
export function resultsAfter(decisions: readonly Accepted[]): Results {
  const results = { lookup: ran("lookup"), charge: ran("charge"), note: ran("note"), refund: ran("refund") };
  for (const { tool, action } of decisions) {
    if (action === "deny" || action === "skip") results[tool] = NONE;
    else results[tool] = action === "answer" ? byHand(tool) : ran(tool);
  }
  return results;
}
