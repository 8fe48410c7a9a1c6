import type * as z from "zod/mini";
import type { EventOf } from "../../src/protocol/envelope-schema.ts";
import type { EventBody, EventType, ThreadEvent } from "../../src/protocol/event.ts";
import { eventSchemas } from "../../src/protocol/schemas.ts";
import type { Actor, Usage } from "../../src/protocol/values.ts";
import { actor, pin, usage } from "../../src/protocol/values-schema.ts";

// Checked by tsc alone: nothing here runs. Each line that must not compile says so.

type Assignable<From, To> = [From] extends [To] ? true : false;
type Both<Left, Right> = [Assignable<Left, Right>, Assignable<Right, Left>] extends [true, true] ? true : false;
type Inferred<Type extends EventType> = z.infer<(typeof eventSchemas)[Type]>;

const everyKindHasASchema: Both<keyof typeof eventSchemas, EventBody["type"]> = true;
const everySchemaIsItsType: { readonly [Type in EventType]: Both<Inferred<Type>, EventOf<Type>> } = {
  "thread-created": true,
  "thread-renamed": true,
  "message-added": true,
  "run-started": true,
  "run-resumed": true,
  "run-waiting": true,
  "run-handed-over": true,
  "stop-requested": true,
  "run-ended": true,
  "turn-started": true,
  "text-added": true,
  "part-added": true,
  "turn-ended": true,
  "call-proposed": true,
  "call-input-added": true,
  "call-ready": true,
  "call-judged": true,
  "decision-requested": true,
  "decision-extended": true,
  "decision-recorded": true,
  "turn-judged": true,
  "grant-revoked": true,
  "call-started": true,
  "call-progressed": true,
  "attempt-failed": true,
  "call-interrupted": true,
  "call-settled": true,
  "limit-reached": true,
};
const allTogether: Both<Inferred<EventType>, ThreadEvent> = true;

// A kind without a schema.
const { "limit-reached": _, ...incomplete } = eventSchemas;
// @ts-expect-error limit-reached is missing
const missing: { readonly [Type in EventType]: z.ZodMiniType<EventOf<Type>> } = incomplete;

// A schema that lacks a field, asks for one more, takes less, or takes more than its type.
const name: z.ZodMiniType<string> = null as never; // a value for types only
const optionalName: z.ZodMiniOptional<z.ZodMiniType<string>> = null as never; // as above
declare const object: typeof z.strictObject;
// @ts-expect-error id is missing
pin<Actor>()(object({ name: optionalName }));
// @ts-expect-error an Actor need not have a role
pin<Actor>()(object({ id: name, name: optionalName, role: name }));
// @ts-expect-error an Actor need not have a name
pin<Actor>()(object({ id: name, name }));
// @ts-expect-error an Actor always has an id
pin<Actor>()(object({ id: optionalName, name: optionalName }));
// @ts-expect-error an id is a text
pin<Actor>()(object({ id: null as never as z.ZodMiniType<number>, name: optionalName }));
pin<Actor>()(object({ id: name, name: optionalName }));

export const checks: readonly unknown[] = [everyKindHasASchema, everySchemaIsItsType, allTogether, missing];
export const values: readonly [z.ZodMiniType<Actor>, z.ZodMiniType<Usage>] = [actor, usage];
