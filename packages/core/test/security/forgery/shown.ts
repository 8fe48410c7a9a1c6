import type { ThreadEvent } from "../../../src/protocol/event.ts";
import type { Json } from "../../../src/protocol/values.ts";
import type { StoredEvent, ThreadRow } from "../../../src/store/thread-store.ts";

/** A question as its owner's screen shows it. */
export interface Shown {
  readonly threadId: string;
  readonly callId: string;
  readonly tool: string;
  readonly kind: string;
  readonly digest: string;
  readonly input: Json;
  readonly editable: boolean | readonly string[];
  readonly scopes: readonly string[];
  readonly expiresAt: number;
  readonly extendMs: number | undefined;
}

/** One conversation as it is when the attacks begin. */
export interface Conversation {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly runId: string;
  readonly grantIds: readonly string[];
  readonly stored: readonly StoredEvent[];
  readonly events: readonly ThreadEvent[];
  readonly row: ThreadRow;
  readonly shown: readonly Shown[];
}
