import type { AnyStep } from "../protocol/step.ts";
import type { ActionResult, Reply } from "./post.ts";
import { asRecord, DONE, toResult } from "./post.ts";

/** What a decision reads of the step that was on screen. */
export type StepRef = Pick<AnyStep, "id" | "digest" | "ask">;
/** The part of a decision that is not about which step. */
export type DecisionBody = { readonly action: string } & Readonly<Record<string, unknown>>;

/** What deciding needs of its client. */
export interface DecidingHost {
  post(body: Readonly<Record<string, unknown>>): Promise<Reply>;
  /** Reads the real state after a refusal. */
  refresh(): Promise<unknown>;
  onChange(): void;
}

export interface Decider {
  decide(given: StepRef | readonly StepRef[], body: DecisionBody): Promise<ActionResult>;
  /** Each step with a decision of its own, all in one request. */
  decideEach(given: readonly (readonly [StepRef, DecisionBody])[]): readonly Promise<ActionResult>[];
  /** Tells what is on its way: from the press of the button until the log, at `seq`, shows what became of it. */
  sendingAt(seq: number): ((step: StepRef) => boolean) | undefined;
}

interface Sent {
  readonly result: Promise<ActionResult>;
  /** Seq of the recorded decision; unknown until the server answered. */
  seq: number;
}

const LARGEST_POST = 100;

/**
 * One decision per question of a step, however often the button is pressed: while one is on its way, and
 * after it was accepted, the same question answers with the same promise and posts nothing.
 */
export function createDecider(host: DecidingHost): Decider {
  const sent = new Map<string, Sent>();

  function decide(given: StepRef | readonly StepRef[], body: DecisionBody): Promise<ActionResult> {
    const results = decideEach([given].flat().map((step) => [step, body]));
    const [only] = results;
    return only && results.length === 1 ? only : Promise.all(results).then((all) => all.find(({ ok }) => !ok) ?? DONE);
  }

  function decideEach(given: readonly (readonly [StepRef, DecisionBody])[]): readonly Promise<ActionResult>[] {
    const fresh = given.filter(([step, body]) => !sent.has(nameOf(step, body)));
    for (let from = 0; from < fresh.length; from += LARGEST_POST) postAll(fresh.slice(from, from + LARGEST_POST));
    return given.map(([step, body]) => sent.get(nameOf(step, body))?.result ?? Promise.resolve(DONE));
  }

  function postAll(entries: readonly (readonly [StepRef, DecisionBody])[]): void {
    const names = entries.map(([step, body]) => nameOf(step, body));
    const decisions = entries.map(([{ id: callId, digest }, body]) => ({ callId, digest, ...body }));
    const reply = host.post({ decisions }).then(async (answer) => {
      const results = entries.map(([step]) => resultOf(step, answer));
      const refused = names.filter((_, index) => !results[index]?.ok);
      names.forEach((name, index) => {
        const entry = sent.get(name);
        if (entry && results[index]?.ok) entry.seq = Number(answer.body.seq) || 0;
      });
      if (refused.length > 0) {
        const refreshed = host.refresh();
        // Nothing is known after a lost reply, and the network that lost it would keep the button busy.
        if (answer.ok || answer.code !== "network") await refreshed;
      }
      for (const name of refused) sent.delete(name);
      host.onChange();
      return results;
    });
    names.forEach((name, index) => {
      const result = reply.then((results) => results[index] ?? DONE);
      sent.set(name, { result, seq: Number.POSITIVE_INFINITY });
    });
    host.onChange();
  }

  return {
    decide,
    decideEach,
    sendingAt(seq) {
      if (![...sent.values()].some((entry) => entry.seq > seq)) return undefined;
      return (step) => step.ask !== null && (sent.get(questionOf(step))?.seq ?? 0) > seq;
    },
  };
}

/** A step can be asked about again with the same digest: kind and time tell its questions apart. */
export function questionOf({ id, digest, ask }: StepRef): string {
  return `${id} ${digest} ${ask?.kind} ${ask?.askedAt}`;
}

/** More time decides nothing: the question stays open, and can be given more again. */
function nameOf(step: StepRef, { action }: DecisionBody): string {
  return action === "extend" ? `${questionOf(step)} ${step.ask?.expiresAt}` : questionOf(step);
}

/** The server's word on one step: its own result where there is one, else that of the whole post. */
function resultOf(step: StepRef, reply: Reply): ActionResult {
  const { results } = reply.body;
  const own = Array.isArray(results) ? asRecord(results.find((result) => result?.callId === step.id)) : undefined;
  if (own?.ok === true) return DONE;
  const error = asRecord(own?.error);
  if (error) return { code: "internal", message: "", ...error, ok: false }; // the server's error form
  return toResult(reply);
}
