import type { Append, AppendResult, StoredEvent, ThreadRead, ThreadRow, ThreadStore } from "../store/thread-store.ts";

/** What a case works with. Threads and owners have new names each time, so a store may keep what others wrote. */
export interface StoreCaseContext {
  readonly store: ThreadStore;
  /** The same threads, as another server has them. */
  readonly other: ThreadStore;
  /** Moves the store's clock, or really waits. */
  advance(ms: number): Promise<void>;
  /** True when `advance` costs no time: days may pass. */
  readonly canSkipTime: boolean;
  /** How long a store may take to show something. */
  readonly patienceMs: number;
  newId(): string;
  /** Aborted when the case is over: its followers end with it. */
  readonly signal: AbortSignal;
}

/** One rule of the store contract, as a check that throws when the rule is broken. */
export interface StoreCase {
  readonly name: string;
  run(context: StoreCaseContext): Promise<void>;
}

/** Leases of the cases: long enough for a slow store to work in, short enough to wait for. */
export const LEASE_MS = 1500;

/** Throws with a clear text. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Compares plain JSON; key order and undefined fields do not count. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [sorted(actual), sorted(expected)];
  check(left === right, `${what}: expected ${cut(right)}, got ${cut(left)}`);
}

function sorted(value: unknown): string {
  return String(
    JSON.stringify(value, (_, item: unknown) =>
      typeof item === "object" && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
        : item,
    ),
  );
}

function cut(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

/** Rejects when it takes longer than the context's patience. */
export async function within<Value>(
  { patienceMs }: Pick<StoreCaseContext, "patienceMs">,
  what: string,
  promise: Promise<Value>,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${patienceMs} ms`)), patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A promise that is awaited later: its failure is reported there, not as unhandled. */
export function later<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

/** Asks again until the check passes: for the list, the only thing that may lag. */
export async function eventually(
  { patienceMs }: Pick<StoreCaseContext, "patienceMs">,
  attempt: () => Promise<void>,
): Promise<void> {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() >= end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Control events, or deltas where the text begins with "~". */
export function drafts(...texts: readonly string[]): Append["events"] {
  return texts.map((text) => ({ control: !text.startsWith("~"), data: text }));
}

/** An append of its own batch. */
export function batch(context: StoreCaseContext, texts: readonly string[], rest: Partial<Append> = {}): Append {
  return { batch: context.newId(), events: drafts(...texts), ...rest };
}

export function isOk(result: AppendResult): result is Extract<AppendResult, { status: "ok" }> {
  return result.status === "ok";
}

/** Appends at the head and insists on success. */
export async function write(
  context: StoreCaseContext,
  id: string,
  at: number,
  texts: readonly string[],
  rest?: Partial<Append>,
): Promise<number> {
  const result = await context.store.append(id, { at }, batch(context, texts, rest));
  check(isOk(result), `append at ${at}: expected ok, got ${cut(sorted(result))}`);
  same([result.first, result.head], [at + 1, at + texts.length], `first and head of an append at ${at}`);
  return result.head;
}

/** Appends wherever the head is by now, as often as it takes. */
export async function writeSomewhere(context: StoreCaseContext, id: string, append: Append): Promise<number> {
  let at = 0;
  for (;;) {
    const result = await context.store.append(id, { at }, append);
    if (isOk(result)) return result.first;
    check(result.status === "conflict", `append at ${at}: expected ok or conflict, got ${result.status}`);
    check(result.head !== at, `append at ${at}: a conflict although the head is ${result.head}`);
    at = result.head;
  }
}

/** Reads a thread that must be there. */
export async function readThread(context: StoreCaseContext, id: string, after?: number): Promise<ThreadRead> {
  const read = await context.store.read(id, after);
  check(read !== null && !("gone" in read), `read: expected a thread, got ${sorted(read)}`);
  return read;
}

/** Insists that events follow `after` one by one. */
export function joined(events: readonly StoredEvent[], after: number, what: string): void {
  events.forEach((event, index) => {
    const expected = after + 1 + index;
    check(event.seq === expected, `${what}: expected seq ${expected}, got ${event.seq}`);
  });
}

export function dataOf(events: readonly StoredEvent[]): readonly string[] {
  return events.map((event) => event.data);
}

export function row(id: string, owner: string, rest: Partial<ThreadRow> = {}): ThreadRow {
  return { id, owner, title: "A thread", status: "ended", pending: 0, updatedAt: 1_000, ...rest };
}

/** Head 5, snapshots at 2 and 4: the base is 2. */
export async function trimmed(context: StoreCaseContext, id: string): Promise<void> {
  await write(context, id, 0, ["a"]);
  await write(context, id, 1, ["b"], { snapshot: "s2" });
  await write(context, id, 2, ["c"]);
  await write(context, id, 3, ["d"], { snapshot: "s4" });
  await write(context, id, 4, ["~e"]);
}
