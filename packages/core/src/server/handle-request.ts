import { ToolRunError } from "../errors.ts";
import { parseRequest } from "../protocol/parse-request.ts";
import {
  continueBody,
  decisionsBody,
  messageBody,
  revokeBody,
  stopBody,
  titleBody,
} from "../protocol/request-schema.ts";
import { rootOf } from "../protocol/thread.ts";
import type { User } from "../protocol/typed.ts";
import { accessOf, checkUser, inTime, openFor, within } from "./access.ts";
import { whileStarting } from "./active-runs.ts";
import { decide } from "./decide.ts";
import type { AccessAction, Engine } from "./engine.ts";
import { errorBody, errorResponse, json, statusOf, toToolRunError } from "./errors-on-the-wire.ts";
import { followResponse } from "./follow-response.ts";
import { guardWrite, isForeign, readBody } from "./guard-request.ts";
import { snapshotBody } from "./snapshot-body.ts";
import { continueRun, renameThread, revokeGrant, stopRun } from "./threads.ts";
import { post, removeThread } from "./verbs.ts";
import { takeOver } from "./write.ts";
import type { Writer } from "./writer.ts";
import { writerOf } from "./writer.ts";

/** What the HTTP side needs beside the engine. */
export interface HttpOptions {
  readonly identify: (request: Request) => Promise<User | null>;
  readonly allowedOrigins: readonly string[];
}

/** One request to one answer: docs/protocol.md section 1. Never rejects. */
export async function handleRequest(engine: Engine, options: HttpOptions, request: Request): Promise<Response> {
  try {
    const route = routeOf(request);
    if (request.method !== "GET") guardWrite(request, options.allowedOrigins);
    const user = await within(engine, options.identify(request), SIGN_IN_LATE);
    if (!user) throw new ToolRunError("unauthenticated", "Sign in first.");
    checkUser(user);
    return await answer(engine, user, request, route, isForeign(request, options.allowedOrigins));
  } catch (error) {
    return errorResponse(toToolRunError(engine, error));
  }
}

const SIGN_IN_LATE = "The sign-in service did not answer in time; try again.";

interface Route {
  readonly threadId: string | undefined;
  readonly action: string | undefined;
}

const ID = /^[\w-]{1,64}$/;

/** Routes on the last `threads` segment of the path, so that any mount works. */
function routeOf(request: Request): Route {
  const segments = new URL(request.url).pathname.split("/").filter(Boolean);
  const at = segments.lastIndexOf("threads");
  const [threadId, action, ...rest] = segments.slice(at + 1);
  if (at < 0 || rest.length > 0 || (threadId !== undefined && !ID.test(threadId))) {
    throw new ToolRunError("not-found", "There is nothing at this address.");
  }
  return { threadId, action };
}

function answer(
  engine: Engine,
  user: User,
  request: Request,
  { threadId, action }: Route,
  foreign: boolean,
): Promise<Response> {
  const name = `${request.method}${action === undefined ? "" : ` ${action}`}`;
  if (threadId === undefined) {
    if (name === "GET") return listThreads(engine, user, request);
    if (name === "POST") return postMessage(engine, user, request, undefined);
    throw new ToolRunError("not-found", "There is nothing at this address.");
  }
  switch (name) {
    case "GET":
      return inTime(engine, getThread(engine, user, threadId, foreign));
    case "DELETE":
      return inTime(engine, deleteThread(engine, user, threadId));
    case "GET events":
      return inTimeOrEnded(engine, getEvents(engine, user, request, threadId, foreign));
    case "POST messages":
      return postMessage(engine, user, request, threadId);
    case "POST decisions":
      return postDecisions(engine, user, request, threadId);
    case "POST stop":
      return write(engine, user, request, threadId, "send", stopBody, 202, (writer, body) =>
        stopRun(engine, threadId, writer, body),
      );
    case "POST continue":
      return write(engine, user, request, threadId, "send", continueBody, 202, (writer, body) =>
        whileStarting(engine, user, threadId, (canStart) => continueRun(engine, threadId, writer, body, canStart)),
      );
    case "POST title":
      return write(engine, user, request, threadId, "send", titleBody, 200, (writer, { title }) =>
        renameThread(engine, threadId, writer, title),
      );
    case "POST revoke":
      return write(engine, user, request, threadId, "decide", revokeBody, 200, (writer, { grantId }) =>
        revokeGrant(engine, threadId, writer, grantId),
      );
    default:
      throw new ToolRunError("not-found", "There is nothing at this address.");
  }
}

async function listThreads(engine: Engine, user: User, request: Request): Promise<Response> {
  const cursor = new URL(request.url).searchParams.get("cursor") ?? undefined;
  const { rows, cursor: next } = await within(engine, engine.store.list(user.id, cursor));
  return json({ rows: rows.map(({ owner: _owner, ...row }) => row), cursor: next });
}

async function getThread(engine: Engine, user: User, threadId: string, foreign: boolean): Promise<Response> {
  const open = await openFor(engine, user, "read", threadId);
  const access = await accessOf(engine, user, open);
  const due = (rootOf(open.thread)?.dueAt ?? Number.POSITIVE_INFINITY) <= engine.clock.now();
  // A question whose time is over is recorded by whoever notices first: the next look shows it.
  if (due && access.send && !foreign) engine.background(takeOver(engine, threadId));
  return json(snapshotBody(open.thread, user, access, engine.clock.now()));
}

async function deleteThread(engine: Engine, user: User, threadId: string): Promise<Response> {
  await removeThread(engine, user, threadId);
  return new Response(null, { status: 204 });
}

async function getEvents(
  engine: Engine,
  user: User,
  request: Request,
  threadId: string,
  foreign: boolean,
): Promise<Response> {
  const cursor = request.headers.get("last-event-id") ?? new URL(request.url).searchParams.get("after") ?? "0";
  if (!/^\d{1,15}$/.test(cursor)) {
    throw new ToolRunError("bad-request", "Last-Event-ID and ?after= must be the number of the last event read.");
  }
  const open = await openFor(engine, user, "read", threadId);
  return followResponse(engine, request, user, open, { after: Number(cursor), foreign });
}

async function postMessage(
  engine: Engine,
  user: User,
  request: Request,
  threadId: string | undefined,
): Promise<Response> {
  const { key, message, pending } = parseRequest(messageBody, await readBody(request));
  const receipt = await inTime(engine, post(engine, user, key, threadId, { message, pending }, "browser"));
  return json(receipt, threadId === undefined ? 201 : 202);
}

async function postDecisions(engine: Engine, user: User, request: Request, threadId: string): Promise<Response> {
  const { key, decisions } = parseRequest(decisionsBody, await readBody(request));
  const decided = async (): ReturnType<typeof decide> => {
    await openFor(engine, user, "decide", threadId);
    return decide(engine, threadId, writerOf(user, key, decisions), decisions, "browser");
  };
  const { seq, results } = await inTime(engine, decided());
  const wire = results.map((result) => (result.ok ? result : { ...result, error: errorBody(result.error) }));
  const refused = results.flatMap((result) => (result.ok ? [] : [result.error]));
  const [first] = refused;
  if (!first || refused.length < results.length) return json({ seq, results: wire });
  return json({ error: errorBody(first), seq, results: wire }, statusOf(first));
}

/** Nobody reads a stream that is ready after its 503: it would follow, and look for work, for ever. */
async function inTimeOrEnded(engine: Engine, stream: Promise<Response>): Promise<Response> {
  try {
    return await inTime(engine, stream);
  } catch (error) {
    stream.then(({ body }) => body?.cancel()).catch(() => undefined); // it failed, or nobody is there to hear that it did
    throw error;
  }
}

/** A small write: read its body, check access, write, answer where it landed. */
async function write<Body extends { readonly key: string }>(
  engine: Engine,
  user: User,
  request: Request,
  threadId: string,
  action: AccessAction,
  schema: Parameters<typeof parseRequest<Body>>[0],
  status: number,
  perform: (writer: Writer, body: Body) => Promise<unknown>,
): Promise<Response> {
  const parsed = parseRequest(schema, await readBody(request));
  const { key, ...body } = parsed;
  const performed = async (): Promise<unknown> => {
    await openFor(engine, user, action, threadId);
    return perform(writerOf(user, key, [routeOf(request).action, body]), parsed);
  };
  return json(await inTime(engine, performed()), status);
}
