import type { Agent } from "../../../src/agent/agent.ts";
import type { ThreadStore } from "../../../src/store/thread-store.ts";
import type { FakeClock } from "../../fake-clock.ts";
import type { Execution, Subject } from "./app.ts";
import { makeApp } from "./app.ts";
import { mayDo, SESSION, signedIn, tenantOf } from "./people.ts";

export const BASE = "https://shop.test/api/toolrun/threads";
/** Another origin of the same people. */
export const FRIEND = "https://admin.shop.test";

/** A server of the shop. */
export interface Server {
  handle(request: Request): Promise<Response>;
  sweep(): Promise<number>;
  /** What was reported on the server. */
  readonly errors: readonly unknown[];
}

/** The agents of both tenants, made once: they keep nothing. */
export type Agents = Readonly<Record<string, Agent>>;

export function makeAgents(
  subject: Subject,
  ran: (execution: Execution) => void,
  hangs?: (execution: Execution) => boolean,
): Agents {
  return Object.fromEntries(["a", "b"].map((tenant) => [tenant, makeApp(subject, tenant, ran, hangs)]));
}

let servers = 0;

export function serve(subject: Subject, agents: Agents, clock: FakeClock, store: ThreadStore): Server {
  const errors: unknown[] = [];
  const name = `s${++servers}`;
  let ids = 0;
  const engine = subject.createEngine(
    {
      agent: ({ user }) => agents[tenantOf(user.id)] as Agent, // every user has a tenant
      store,
      authorize: ({ user, action, owner }) => mayDo(user.id, action, owner),
      onError: (error) => errors.push(error),
    },
    { production: false, livesOn: true, waitUntil: undefined },
    { clock, newId: () => `${name}-${String(++ids).padStart(5, "0")}` },
  );
  const identify = async (request: Request) => {
    const id = signedIn(request.headers.get("cookie"));
    return id === undefined ? null : { id, session: SESSION };
  };
  const options = { identify, allowedOrigins: [FRIEND] };
  return {
    handle: (request) => subject.handleRequest(engine, options, request),
    sweep: () => subject.createVerbs(engine).sweep(),
    errors,
  };
}
