import type { AnyStep, ViewTurn } from "toolrun";

/** A stretch of a row, in milliseconds since the epoch. `wait`: for a person. */
export interface Stretch {
  readonly kind: "model" | "work" | "wait";
  readonly from: number;
  readonly to: number;
}

interface Row {
  readonly stretches: readonly Stretch[];
  readonly children: readonly TimeRow[];
}

/** A line of the waterfall: a model call with the steps it asked for, or a step with the rounds of its sub-agent. */
export type TimeRow =
  | (Row & { readonly type: "turn"; readonly turn: ViewTurn })
  | (Row & { readonly type: "step"; readonly step: AnyStep });

/** What a run's turns spent their time on. What has not ended lasts until `now`. */
export function timeRows(turns: readonly ViewTurn[], now: number, parentId?: string): readonly TimeRow[] {
  return turns
    .filter((turn) => turn.parentId === parentId)
    .map((turn) => ({
      type: "turn",
      turn,
      stretches: [stretch("model", turn.startedAt, turn.endedAt ?? now)],
      children: turn.steps.map((step) => ({
        type: "step",
        step,
        stretches: stretchesOf(step, turn.endedAt, now),
        children: timeRows(turns, now, step.id),
      })),
    }));
}

/**
 * When a step waited for a person, and when it ran. Of all its questions only the last one is known to the moment; an
 * approval was asked for when the turn was over; any other question is part of the work.
 */
function stretchesOf(step: AnyStep, readyAt: number | undefined, now: number): readonly Stretch[] {
  const { ask, askedAt, decision, earlier, startedAt, endedAt } = step;
  const waits: Stretch[] = [];
  const approval = earlier.find(({ kind }) => kind === "approval");
  if (approval && readyAt !== undefined) waits.push(stretch("wait", readyAt, approval.at));
  const kind = ask?.kind ?? decision?.kind;
  if (askedAt !== undefined && kind !== undefined && kind !== "browser") {
    waits.push(stretch("wait", askedAt, ask ? now : (decision?.at ?? now)));
  }
  if (startedAt === undefined) return waits;
  const work: Stretch[] = [];
  let from = startedAt;
  const until = endedAt ?? now;
  for (const wait of waits) {
    if (wait.to <= from) continue;
    if (wait.from > from) work.push(stretch("work", from, Math.min(wait.from, until)));
    from = wait.to;
  }
  if (until > from || work.length === 0) work.push(stretch("work", from, until));
  return [...waits, ...work].toSorted((left, right) => left.from - right.from);
}

/** Clocks of two servers may differ: nothing ends before it begins. */
function stretch(kind: Stretch["kind"], from: number, to: number): Stretch {
  return { kind, from, to: Math.max(from, to) };
}

/** All stretches of rows and of what is below them. */
export function allStretches(rows: readonly TimeRow[]): readonly Stretch[] {
  return rows.flatMap((row) => [...row.stretches, ...allStretches(row.children)]);
}

/** How long stretches of some kinds took together; what was at the same time counts once. */
export function timeOf(stretches: readonly Stretch[], ...kinds: readonly Stretch["kind"][]): number {
  return merged(stretches.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))).reduce(
    (sum, { from, to }) => sum + to - from,
    0,
  );
}

/** Hours of waiting would leave no room for the seconds of work: a time in which nothing else happens is cut short. */
export function toScale(stretches: readonly Stretch[]): (at: number) => number {
  const busy = merged(stretches.filter(({ kind }) => kind !== "wait"));
  const work = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const longest = Math.max(work / 4, 1);
  const ends = merged(stretches);
  const begin = ends[0]?.from ?? 0;
  const end = ends.at(-1)?.to ?? 0;
  // Pairs of a time and its place; between them it is even.
  const marks: { readonly at: number; readonly place: number }[] = [{ at: begin, place: 0 }];
  let place = 0;
  let at = begin;
  const go = (to: number, most: number): void => {
    place += Math.min(to - at, most);
    at = to;
    marks.push({ at, place });
  };
  for (const { from, to } of busy) {
    go(from, longest);
    go(to, Number.POSITIVE_INFINITY);
  }
  go(end, longest);
  const all = place || 1;
  return (time) => {
    const next = marks.findIndex((mark) => mark.at >= time);
    const after = marks[next];
    const before = marks[next - 1];
    if (!after) return 1;
    if (!before) return 0;
    const part = after.at === before.at ? 0 : (time - before.at) / (after.at - before.at);
    return (before.place + part * (after.place - before.place)) / all;
  };
}

/** In order, and those that touch as one. */
function merged(stretches: readonly Stretch[]): readonly { readonly from: number; readonly to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const { from, to } of stretches.toSorted((left, right) => left.from - right.from)) {
    const last = found.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else found.push({ from, to });
  }
  return found;
}
