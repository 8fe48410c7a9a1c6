import type { EventDraft, ThreadEvent } from "./event.ts";
import { PROTOCOL_VERSION } from "./event.ts";
import type { Actor } from "./values.ts";

/** Gives a draft its place, time and version. `epoch` is for drafts that name none. */
export function sealEvent(draft: EventDraft, seq: number, at: number, epoch?: number): ThreadEvent {
  // Object.assign, because a spread of many shapes that adds fields is several times slower.
  return Object.assign({}, draft, { epoch: draft.epoch ?? epoch, seq, at, v: PROTOCOL_VERSION });
}

/** The user behind an actor-like value. */
export function actorOf(user: { readonly id: string; readonly name?: string | undefined }): Actor {
  return user.name === undefined ? { id: user.id } : { id: user.id, name: user.name };
}
