import { setTimeout as sleep } from "node:timers/promises";
import type { ActionResult } from "../../src/client/post.ts";
import type { ThreadClient, ThreadClientOptions } from "../../src/client/thread-client.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { seeded } from "../cluster/random.ts";
import { startBadNetwork } from "./bad-network.ts";
import type { ClientCode } from "./build-client.ts";
import type { BusyServer } from "./busy-server.ts";
import type { FastClock } from "./fast-clock.ts";
import { fastClock } from "./fast-clock.ts";
import { viewOf, watch, wrongIn } from "./watch.ts";

/** What one schedule came to. */
export interface Outcome {
  /** Empty when everything is right. */
  readonly wrong: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  /** States that the two tabs showed. */
  readonly shown: number;
  readonly events: number;
}

/** A second of the world is 20 seconds of the client: its 40 seconds of silence are two. */
const FASTER = 20;
const OUTAGE_MS = 1_200;
/** More tries than this for a stream within an outage of 24 seconds is no backing off. */
const MOST_TRIES = 24;

export interface ScheduleOptions {
  readonly code: ClientCode;
  readonly server: BusyServer;
  readonly seed: number;
  /** A tab that is not there by then, on the clients' clock, never will be. */
  readonly withinMs?: number | undefined;
}

/** Two tabs of one person, a bad network, and two runs: what is wrong at the end, or was on the way. */
export async function runSchedule({ code, server, seed, withinMs = 600_000 }: ScheduleOptions): Promise<Outcome> {
  const random = seeded(seed);
  const wrong: string[] = [];
  const network = await startBadNetwork(server.port, random.fork(), random.between(4, 24));
  const clock = fastClock(FASTER);
  const deadline = clock.Date.now() + withinMs;
  const isLate = (): boolean => clock.Date.now() > deadline;
  const { createThreadClient } = code(clock);
  const open = (options: Partial<ThreadClientOptions> = {}): Tab => {
    const client = createThreadClient({ ...options, endpoint: `${network.url}/api/toolrun` });
    return { client, watched: watch(client) };
  };
  const tabs = [open()];
  const said: string[] = [];
  const accepted = new Map<string, string>();
  const events = (): Promise<readonly ThreadEvent[]> => server.events(tabs[0]?.client.threadId ?? "");

  const until = async (what: string, test: () => boolean): Promise<void> => {
    while (!test()) {
      if (isLate()) throw new Error(`It never came to this: ${what}.`);
      await sleep(5);
    }
  };
  /** What a person does: press again until it is taken. */
  const insist = async (what: string, act: () => Promise<ActionResult>): Promise<void> => {
    for (;;) {
      const result = await within(act(), clock, deadline);
      if (result.ok) return;
      if (isLate()) throw new Error(`${what} was never taken: ${result.code} ${result.message}`);
      await sleep(random.between(1, 30));
    }
  };
  const say = async ({ client }: Tab, text: string): Promise<void> => {
    said.push(text);
    await insist(text, () => client.send(text));
    // Comes to the other tab through the browser, where there is one.
    for (const other of tabs) if (other.client !== client) void other.client.refresh();
  };
  /** Decides whatever waits, in both tabs at once, until all that was said is done and seen. */
  const attend = async (): Promise<void> => {
    for (let look = 1; !isLate(); look++) {
      for (const { client } of tabs) {
        const { pending, status } = client.getSnapshot();
        for (const step of pending) {
          if (step.sending) continue;
          const action = step.ask?.kind === "interrupted" ? "skip" : random.next() < 0.8 ? "approve" : "deny";
          const result = action === "deny" ? client.deny(step, "no ✋") : client[action](step);
          result.then(({ ok }) => {
            if (ok) accepted.set(step.id, accepted.get(step.id) ?? action);
          });
          if (random.next() < 0.3) void client[action](step);
        }
        // As the hook does, every five seconds while the thread waits; and on focus.
        if (look % 25 === 0 && status !== "running") void client.refresh();
      }
      if (look % 10 === 0 && (await isOver())) return;
      await sleep(5);
    }
    const last = (await events()).slice(-4).map(({ seq, type }) => `${seq} ${type}`);
    throw new Error(`It never came to an end: ${last.join(", ")}.`);
  };
  const isOver = async (): Promise<boolean> => {
    const log = await events();
    const messages = log.filter(({ type }) => type === "message-added").length;
    return (
      log.at(-1)?.type === "run-ended" &&
      messages >= said.length &&
      tabs.every(({ client }) => client.getSnapshot().seq === log.at(-1)?.seq)
    );
  };

  try {
    const [first] = tabs as [Tab];
    await say(first, `Refund ${seed}${random.next() < 0.3 ? " flaky" : ""}`);
    const attending = attend();
    await sleep(random.between(0, 250));
    tabs.push(open({ threadId: first.client.threadId }));
    if (random.next() < 0.3) {
      network.outage(true);
      await sleep(OUTAGE_MS);
      network.outage(false);
      if (network.triedInOutage > MOST_TRIES) wrong.push(`${network.triedInOutage} tries in ${OUTAGE_MS * FASTER} ms`);
    }
    if (random.next() < 0.3) await say(first, `and ${seed} again`);
    await attending;
    await say(random.one(tabs as [Tab, ...Tab[]]), `Once more ${seed}`);
    await attend();

    const rests = ({ client }: Tab): boolean => client.getSnapshot().connection.status === "idle";
    for (const [index, tab] of tabs.entries()) await until(`tab ${index} rests`, () => rests(tab));
    const [one, two] = tabs.map(({ client }) => viewOf(client));
    if (one !== two) wrong.push("the tabs differ");
  } catch (error) {
    const where = tabs.map(({ client }) => describe(client));
    wrong.push(`${error instanceof Error ? error.message : error} ${where.join(" ")}`);
  }

  for (const { client, watched } of tabs) {
    client.close();
    watched.stop();
  }
  // A decision that is on its way is tried three times, each for 15 seconds.
  const end = clock.Date.now() + 60_000;
  while ((clock.armed > 0 || network.underWay > 0) && clock.Date.now() < end) await sleep(5);
  if (clock.armed > 0) wrong.push(`${clock.armed} timers are left`);
  if (network.underWay > 0) wrong.push(`${network.underWay} requests are left`);
  clock.stop();
  await network.close();

  const log = await events();
  for (const [index, { watched, client }] of tabs.entries()) {
    wrong.push(
      ...wrongIn(watched.shown, log, client.threadId ?? "")
        .slice(0, 3)
        .map((text) => `tab ${index} ${text}`),
    );
  }
  wrong.push(...wrongInLog(log, said, server.refunds));
  for (const [callId, action] of accepted) {
    const recorded = log.find((event) => event.type === "decision-recorded" && event.callId === callId);
    if (!recorded) wrong.push(`${callId}: ${action} was said to be done, and is not in the log`);
  }
  const shown = tabs.reduce((sum, { watched }) => sum + watched.shown.length, 0);
  return { wrong, faults: network.faults, shown, events: log.length };
}

interface Tab {
  readonly client: ThreadClient;
  readonly watched: ReturnType<typeof watch>;
}

function describe(client: ThreadClient): string {
  const { seq, status, connection, pending, error } = client.getSnapshot();
  return JSON.stringify({
    seq,
    status,
    connection,
    error,
    pending: pending.map(({ sending, ask }) => [sending, ask?.kind]),
  });
}

/** Every message is there once, every decision too, and what was approved ran once. */
function wrongInLog(
  log: readonly ThreadEvent[],
  said: readonly string[],
  refunds: ReadonlyMap<string, number>,
): string[] {
  const wrong: string[] = [];
  const texts = log.flatMap((event) =>
    event.type === "message-added" ? event.parts.map((part) => (part.type === "text" ? part.text : "")) : [],
  );
  for (const text of said) {
    const count = texts.filter((other) => other === text).length;
    if (count !== 1) wrong.push(`“${text}” is there ${count} times`);
  }
  for (const callId of new Set(log.flatMap((event) => (event.type === "decision-recorded" ? [event.callId] : [])))) {
    const about = log.filter((event) => "callId" in event && event.callId === callId);
    // A server that was too slow to keep its lease leaves a call interrupted, which is one more question.
    const interrupted = about.filter(({ type }) => type === "call-interrupted").length;
    const questions = about.filter(({ type }) => type === "decision-requested").length + interrupted;
    const actions = about.flatMap((event) => (event.type === "decision-recorded" ? [event.action] : []));
    if (actions.length > questions)
      wrong.push(`${callId} was asked ${questions} times and decided ${actions.join(", ")}`);
    const runs = refunds.get(callId) ?? 0;
    if (
      runs > 1 ||
      (actions[0] === "approve" && interrupted === 0 && runs === 0) ||
      (actions[0] === "deny" && runs > 0)
    ) {
      wrong.push(`${callId} ran ${runs} times after ${actions.join(", ")}`);
    }
  }
  return wrong;
}

/** An action that never answers is the fault of the client. */
async function within(result: Promise<ActionResult>, clock: FastClock, deadline: number): Promise<ActionResult> {
  let timer: ReturnType<FastClock["setTimeout"]> | undefined;
  const late = new Promise<ActionResult>((resolve) => {
    const end = (): void => resolve({ ok: false, code: "internal", message: "It never answered." });
    timer = clock.setTimeout(end, deadline - clock.Date.now());
  });
  const first = await Promise.race([result, late]);
  clock.clearTimeout(timer);
  return first;
}
