import { ToolRunError } from "../errors.ts";
import { isUnknownScript } from "./redis-failure.ts";

/** What the store needs of a client of `redis` (node-redis 5 or 6): createClient, createCluster, createSentinel. */
export interface NodeRedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** What the store needs of a client of `ioredis` (5 or 6): Redis or Cluster. */
export interface IoredisClient {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  duplicate(): unknown;
}

/** What the store needs of a client of `@upstash/redis`, made with `automaticDeserialization: false`. */
export interface UpstashClient {
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
}

export type RedisClient = NodeRedisClient | IoredisClient | UpstashClient;

/** Hears what arrives on a connection of its own. */
export interface Listener {
  onMessage(channel: string, message: string): void;
  /** The connection is there (again), or gone. */
  onState(state: "ready" | "lost"): void;
}

/** A connection that only listens. */
export interface Subscriber {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  close(): void;
}

/** A client, whichever it is. */
export interface RedisLink {
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Opens a second connection that listens; absent where a client has none, as over HTTP. */
  readonly listen?: ((listener: Listener) => Subscriber) | undefined;
}

/**
 * Tells the three clients apart by their methods.
 * @throws `invalid-config` for anything else, and for an Upstash client that parses what it reads
 */
export function toLink(client: RedisClient): RedisLink {
  if (typeof client !== "object" || client === null) throw noClient();
  const { eval: evaluate, evalSha, evalsha, duplicate } = client as Partial<NodeRedisClient & IoredisClient>; // asked one by one
  if (typeof evaluate !== "function") throw noClient();
  if (typeof evalSha === "function") return nodeRedisLink(client as NodeRedisClient); // only it has evalSha
  if (typeof evalsha !== "function") throw noClient();
  return typeof duplicate === "function"
    ? ioredisLink(client as IoredisClient) // a client over HTTP has no connection to duplicate
    : upstashLink(client as UpstashClient);
}

function noClient(): ToolRunError {
  return new ToolRunError(
    "invalid-config",
    "redisStore takes a client: createClient() of redis, new Redis() of ioredis, or new Redis() of @upstash/redis.",
  );
}

function nodeRedisLink(client: NodeRedisClient): RedisLink {
  const { duplicate } = client as { duplicate?: () => NodeRedisCopy }; // pools have none
  return {
    run: (script, keys, args) => {
      const options = { keys: [...keys], arguments: [...args] };
      return byHash(
        script,
        (sha) => client.evalSha(sha, options),
        () => client.eval(script, options),
      );
    },
    listen: duplicate && ((listener) => nodeRedisSubscriber(duplicate.call(client), listener)),
  };
}

/** What a duplicate of a node-redis client has beside commands. */
interface NodeRedisCopy extends Emitter {
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  destroy(): unknown;
}

function nodeRedisSubscriber(copy: NodeRedisCopy, listener: Listener): Subscriber {
  let isClosed = false;
  const onMessage = (message: string, channel: string): void => listener.onMessage(channel, message);
  const onState: Listener["onState"] = (state) => {
    if (!isClosed) listener.onState(state);
  };
  report(copy, ["reconnecting", "end"], { ...listener, onState });
  const connected = copy.connect();
  connected.catch(() => undefined); // whoever subscribes gets it
  return {
    subscribe: (channel) => connected.then(() => copy.subscribe(channel, onMessage)),
    unsubscribe: (channel) => connected.then(() => copy.unsubscribe(channel, onMessage)),
    close() {
      isClosed = true;
      const destroy = (): void => quietly(() => copy.destroy());
      if (copy.isReady) return destroy();
      // Destroyed on its way, node-redis arrives all the same, and keeps a connection that nobody closes.
      for (const arrival of ["ready", "error"]) copy.on(arrival, destroy);
    },
  };
}

function ioredisLink(client: IoredisClient): RedisLink {
  const isCluster = "isCluster" in client && client.isCluster === true;
  return {
    run: (script, keys, args) =>
      byHash(
        script,
        (sha) => client.evalsha(sha, keys.length, ...keys, ...args),
        () => client.eval(script, keys.length, ...keys, ...args),
      ),
    listen: (listener) => {
      // A cluster's first argument is its nodes; it keeps its options.
      const duplicate = client.duplicate as (options?: object) => IoredisCopy; // both clients take options
      const options = isCluster ? undefined : { enableOfflineQueue: true, maxRetriesPerRequest: null };
      return ioredisSubscriber(duplicate.call(client, options), listener);
    },
  };
}

/** What a duplicate of an ioredis client has beside commands. */
interface IoredisCopy extends Emitter {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

function ioredisSubscriber(copy: IoredisCopy, listener: Listener): Subscriber {
  report(copy, ["close", "end"], listener);
  copy.on("message", (channel, message) => listener.onMessage(String(channel), String(message)));
  return {
    subscribe: (channel) => copy.subscribe(channel),
    unsubscribe: (channel) => copy.unsubscribe(channel),
    close: () => quietly(() => copy.disconnect()),
  };
}

function upstashLink(client: UpstashClient): RedisLink {
  const { opts } = client as { opts?: { automaticDeserialization?: boolean } }; // where today's client keeps its options
  if (opts && opts.automaticDeserialization !== false) throw parsesReplies();
  return {
    run: (script, keys, args) =>
      byHash(
        script,
        (sha) => client.evalsha(sha, [...keys], [...args]),
        () => client.eval(script, [...keys], [...args]),
      ),
  };
}

/** The error of a client that changes what it reads: stored text would not come back as it was. */
export function parsesReplies(): ToolRunError {
  return new ToolRunError(
    "invalid-config",
    "This client parses what it reads, which changes stored text. Make the @upstash/redis client with " +
      "automaticDeserialization: false, as in new Redis({ url, token, automaticDeserialization: false }).",
  );
}

interface Emitter {
  on(event: string, listener: (...args: readonly unknown[]) => void): unknown;
}

function report(copy: Emitter, losses: readonly string[], listener: Listener): void {
  copy.on("error", () => undefined); // one that nobody hears would end the process
  copy.on("ready", () => listener.onState("ready"));
  for (const loss of losses) copy.on(loss, () => listener.onState("lost"));
}

function quietly(close: () => unknown): void {
  try {
    close();
  } catch {
    // was closed already
  }
}

const hashes = new Map<string, Promise<string>>();

/** Names a script by its hash; sends the text only where the server does not know it. */
async function byHash(
  script: string,
  evalsha: (sha: string) => Promise<unknown>,
  evaluate: () => Promise<unknown>,
): Promise<unknown> {
  const sha = hashes.get(script) ?? sha1(script);
  hashes.set(script, sha);
  try {
    return await evalsha(await sha);
  } catch (error) {
    if (isUnknownScript(error)) return await evaluate();
    throw error;
  }
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
