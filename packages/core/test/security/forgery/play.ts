import { fakeClock } from "../../fake-clock.ts";
import { errorOf } from "../../server/shop.ts";
import type { Execution, Subject } from "./app.ts";
import { SECRET } from "./app.ts";
import type { Forged } from "./forge.ts";
import { forge } from "./forge.ts";
import { toRequest } from "./honest.ts";
import type { Ledger } from "./ledger.ts";
import { createLedger } from "./ledger.ts";
import { tenantOf } from "./people.ts";
import { recorder } from "./recorder.ts";
import type { Sent } from "./sent.ts";
import { readSent } from "./sent.ts";
import type { Agents } from "./server.ts";
import { makeAgents, serve } from "./server.ts";
import type { Attack } from "./tamper.ts";
import type { World } from "./world.ts";
import { restore } from "./world.ts";

/** What came of one run of attacks. */
export interface Played {
  /** What went beyond what was shown and allowed, in words. */
  readonly wrong: readonly string[];
  readonly statuses: readonly number[];
  /** Tools that ran. */
  readonly ran: number;
  /** Whether an honest decision was there to be made at the end, and was. */
  readonly honest: boolean;
}

/** The attacked code, ready for many runs: its agents keep nothing. */
export interface Arena {
  play(attacks: readonly Attack[]): Promise<Played>;
}

export function createArena(subject: Subject, world: World): Arena {
  let ran: Execution[] = [];
  const agents = makeAgents(subject, (execution) => ran.push(execution));
  return {
    async play(attacks) {
      ran = [];
      return playOn(subject, world, agents, attacks, () => ran.splice(0));
    },
  };
}

async function playOn(
  subject: Subject,
  world: World,
  agents: Agents,
  attacks: readonly Attack[],
  takeRuns: () => readonly Execution[],
): Promise<Played> {
  const clock = fakeClock(world.now);
  const inner = subject.memoryStore({ clock });
  await restore(world, inner);
  const { store, take } = recorder(inner);
  const server = serve(subject, agents, clock, store);
  const ledger = createLedger(world);
  const watcher = createWatcher(world);
  const wrong: string[] = [];
  const statuses: number[] = [];
  let runs = 0;

  const send = async (request: Request, sent: Sent): Promise<number> => {
    const response = await server.handle(request);
    const shape = response.status >= 400 && request.method !== "HEAD" ? await shapeOf(response.clone()) : undefined;
    const text = await response.text();
    await clock.advance(0);
    const executions = takeRuns();
    runs += executions.length;
    const { status } = response;
    statuses.push(status);
    const found = [
      ...(status >= 500 ? [`an answer of ${status}: ${text}`] : []),
      ...(shape ? [shape] : []),
      ...watcher.look(sent, text),
      ...ledger.check(sent, { status, text }, take(), executions, clock.now()),
    ];
    wrong.push(
      ...found.map((what) => `${sent.method} ${sent.threadId}/${sent.action} by ${sent.user} → ${status}: ${what}`),
    );
    return status;
  };

  for (const attack of attacks) {
    if (wrong.length > 0) break;
    if (attack.do === "wait") {
      await clock.advance(attack.ms);
      continue;
    }
    const forged = forge(world.honest, attack);
    const request = requestOf(forged);
    if (request) await send(request, readSent(forged));
  }
  const honest = wrong.length === 0 && (await decideHonestly(world, ledger, clock.now(), send));
  if (server.errors.length > 0) wrong.push(`reported: ${String(server.errors[0])}`);
  return { wrong, statuses, ran: runs, honest };
}

/** Undefined for what no client can send. */
function requestOf({ method, url, headers, body }: Forged): Request | undefined {
  try {
    return new Request(url, { method, headers, ...(body ? { body: body as Uint8Array<ArrayBuffer> } : {}) }); // made by TextEncoder
  } catch {
    return undefined;
  }
}

async function shapeOf(response: Response): Promise<string | undefined> {
  try {
    await errorOf(response);
    return undefined;
  } catch (error) {
    return `no error as it should be: ${String(error)}`;
  }
}

/** Looks for what somebody must not read. */
function createWatcher({ conversations, serverOnly }: World): { look(sent: Sent, text: string): readonly string[] } {
  const owners = new Map(conversations.map(({ id, owner }) => [id, owner]));
  const keys = /key-(?:next)?\d+-of-\w+/g;
  /** What each attacker said first: nobody hears news from an echo. */
  const said = new Map<string, string>();
  return {
    look({ user = "", text: asked }, text) {
      const known = `${said.get(user) ?? ""}\n${asked}`;
      said.set(user, known);
      const secrets = Array.from(text.matchAll(SECRET)).filter(([whole, of = ""]) => {
        const tenant = of.length === 1 ? of : tenantOf(owners.get(of) ?? user);
        return tenant !== tenantOf(user) && !known.includes(whole);
      });
      const others = [...(text.match(keys) ?? []), ...(text.match(/server-only[\w-]*/g) ?? [])];
      const leaked = [...serverOnly, ...others].filter((each) => text.includes(each) && !known.includes(each));
      return [...secrets.map(([whole]) => `reads "${whole}"`), ...leaked.map((each) => `reads ${each}`)];
    },
  };
}

/** After all of it, the owner approves what is shown, and exactly that runs. */
async function decideHonestly(
  { conversations }: World,
  ledger: Ledger,
  now: number,
  send: (request: Request, sent: Sent) => Promise<number>,
): Promise<boolean> {
  const step = ledger.open(now).findLast(({ kind }) => kind === "approval");
  const owner = conversations.find(({ id }) => id === step?.threadId)?.owner;
  if (!step || !owner) return false;
  const { callId, digest, threadId } = step;
  const body = { decisions: [{ callId, digest, action: "approve" }], key: "honest" };
  const path = `/${threadId}/decisions`;
  const request = toRequest({ method: "POST", path, user: owner, body });
  const sent: Sent = { method: "POST", user: owner, threadId, action: "decisions", body, text: "", isOwn: true };
  return (await send(request, sent)) === 200;
}
