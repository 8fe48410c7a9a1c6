import type { ToolRunErrorCode } from "../errors.ts";
import { ToolRunError } from "../errors.ts";

interface Failure {
  readonly pattern: RegExp;
  readonly code: ToolRunErrorCode;
  readonly message: string;
}

/** What Redis and its clients say, and what to do about it. The first that fits. */
const FAILURES: readonly Failure[] = [
  {
    pattern: /\bOOM\b/,
    code: "unavailable",
    message: "Redis is out of memory and takes no writes. Give it more (maxmemory), or remove threads.",
  },
  {
    pattern: /\bREADONLY\b/,
    code: "unavailable",
    message:
      "This Redis server is a read-only replica. Connect to the primary; after a failover the client has to reconnect.",
  },
  {
    pattern: /\bLOADING\b/,
    code: "unavailable",
    message: "Redis is loading its data after a start. Try again in a moment.",
  },
  {
    pattern: /\bMISCONF\b/,
    code: "unavailable",
    message: "Redis cannot save to its disk and takes no writes. Look at its log: the disk may be full.",
  },
  {
    pattern: /\b(NOREPLICAS|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|UNBLOCKED)\b/,
    code: "unavailable",
    message: "Redis cannot answer at the moment: it is busy, or lacks replicas or nodes. Try again in a moment.",
  },
  {
    pattern: /\b(NOAUTH|WRONGPASS|DENIED|Unauthorized)\b/,
    code: "misconfigured",
    message: "Redis refuses the credentials. Check user, password or token of the client.",
  },
  {
    pattern: /\bNOPERM\b/,
    code: "misconfigured",
    message: "This Redis user may not do what the store needs: EVAL and EVALSHA on its keys, and its channels.",
  },
  {
    pattern: /\b(MOVED|ASK|CROSSSLOT)\b/,
    code: "misconfigured",
    message: "This is a Redis Cluster. Hand in a cluster client (createCluster of redis, Cluster of ioredis).",
  },
  {
    pattern: /unknown (redis )?command|after non deterministic commands|syntax error/i,
    code: "misconfigured",
    message:
      "This Redis server lacks a command that the store needs. Use Redis 6.2 or newer, or one that is compatible.",
  },
  {
    pattern: /\bWRONGTYPE\b/,
    code: "misconfigured",
    message: "Something else keeps its data under the store's keys. Give redisStore a prefix of its own.",
  },
  {
    pattern: /max request size|request size limit/i,
    code: "too-large",
    message: "Redis does not take a request of this size. Raise the limit of the database, or store less at once.",
  },
  {
    pattern: /max (daily )?requests? limit|quota/i,
    code: "unavailable",
    message: "The Redis database has used up its requests. Raise its limit.",
  },
  {
    pattern: /client is closed|connection is closed/i,
    code: "unavailable",
    message: "The Redis client is not connected. Call connect() before the first request, and do not close it.",
  },
];

const UNREACHABLE = "Redis could not be reached. Is it running, and is the client's address right?";
const UNKNOWN = "Redis did not do what the store asked for. The cause is in the server's log.";

/**
 * What a client threw, as an error whose message names the fix. The client's own text stays in `cause`: it may
 * hold hosts, and with Upstash the whole command.
 */
export function toStoreError(cause: unknown): ToolRunError {
  if (cause instanceof ToolRunError) return cause;
  const text = saidBy(cause);
  const known = FAILURES.find(({ pattern }) => pattern.test(text));
  if (known) return new ToolRunError(known.code, known.message, { cause });
  return new ToolRunError("unavailable", isFromServer(text) ? UNKNOWN : UNREACHABLE, { cause });
}

/** Part of a thread is gone and the rest is not: nothing can be built on it. */
export function evicted(): ToolRunError {
  return new ToolRunError(
    "misconfigured",
    "Redis has lost a part of this thread: it evicted keys, or somebody deleted some. Set maxmemory-policy to noeviction.",
  );
}

/** True when a script is not in the server's cache. It was not run. */
export function isUnknownScript(error: unknown): boolean {
  return /\bNOSCRIPT\b/.test(saidBy(error));
}

/** True when thread and list cannot be in one script. It was not run. */
export function isCrossSlot(error: unknown): boolean {
  return /\bCROSSSLOT\b/.test(saidBy(error));
}

/** Without the command, which an Upstash client adds: it holds what people wrote. */
function saidBy(error: unknown): string {
  return error instanceof Error ? (error.message.split(", command was:")[0] ?? "") : String(error);
}

function isFromServer(text: string): boolean {
  return /^(Command failed: )?[A-Z]{3,} /.test(text) || /script/.test(text);
}
