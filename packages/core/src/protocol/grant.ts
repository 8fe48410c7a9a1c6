import { canonicalJson } from "./digest.ts";
import type { Actor, EarlierDenial, Json } from "./values.ts";

/** A denied tool: in this run it asks before every further call. */
export interface Denial extends EarlierDenial {
  readonly seq: number;
  readonly tool: string;
  readonly path: readonly string[];
}

/** A remembered decision. */
export interface Grant {
  readonly grantId: string;
  /** Where the decision is in the log: what was said later counts. */
  readonly seq: number;
  /** What it says of the calls it covers. */
  readonly verdict: "allow" | "deny";
  /** The agent tools above it, the outermost first: another agent's tool of the same name is another tool. */
  readonly path: readonly string[];
  readonly tool: string;
  /** It covers calls of the tool with exactly this input (as canonical JSON), unless it has a key. */
  readonly input: Json;
  /** It covers calls for which the tool's rule names the same key. Server only. */
  readonly key?: string | undefined;
  readonly label?: string | undefined;
  /** Calls it was used for, its own not counted. */
  readonly used: number;
  /** How many it is good for. */
  readonly uses?: number | undefined;
  readonly expiresAt?: number | undefined;
  readonly reason?: string | undefined;
  /** The tool's definition when it was granted: another one asks again. Server only. */
  readonly toolHash?: string | undefined;
  readonly scope: "run" | "thread";
  readonly runId?: string | undefined;
  readonly by?: Actor | undefined;
  readonly at: number;
}

/** What a grant is compared with. */
export interface Covered {
  readonly tool: string;
  readonly toolHash: string | undefined;
  readonly input: Json;
  /** What the tool's rule named for this call. */
  readonly key?: string | undefined;
}

/** The grants that still count at this time, for one agent's tools. */
export function liveGrants(grants: readonly Grant[], path: readonly string[], now: number): readonly Grant[] {
  const wanted = JSON.stringify(path);
  return grants.filter(
    ({ expiresAt = Number.POSITIVE_INFINITY, uses = Number.POSITIVE_INFINITY, used, ...grant }) =>
      expiresAt > now && used < uses && JSON.stringify(grant.path) === wanted,
  );
}

/** The first that covers a call: the same definition of the same tool, with the same key, else with the same input. */
export function findGrant(grants: readonly Grant[], verdict: Grant["verdict"], call: Covered): Grant | undefined {
  const candidates = grants.filter(
    (grant) => grant.verdict === verdict && grant.tool === call.tool && grant.toolHash === call.toolHash,
  );
  if (candidates.length === 0) return undefined;
  const wanted = canonicalJson(call.input);
  return candidates.find(({ key, input }) => (key === undefined ? canonicalJson(input) === wanted : key === call.key));
}
