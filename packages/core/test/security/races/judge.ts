import type { ThreadEvent } from "../../../src/protocol/event.ts";
import { emptyThread } from "../../../src/protocol/thread.ts";
import { fold } from "../../protocol/fold.ts";
import type { Answer, RaceShop } from "./race-shop.ts";
import { INPUT } from "./race-shop.ts";

type Decided = ThreadEvent & { readonly type: "decision-recorded" };

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly step?: {
    readonly id: string;
    readonly status: string;
    readonly reason?: string;
    readonly decision?: { readonly action: string; readonly by?: { readonly id: string }; readonly at: number } | null;
  };
}

/** What is wrong with how a race ended: exactly one wish came true, it ran accordingly, and all others heard what happened. */
export function judge(shop: RaceShop, answers: readonly Answer[], events: readonly ThreadEvent[]): readonly string[] {
  const wrong: string[] = [];
  const expect = (holds: boolean, what: string): void => void (holds || wrong.push(what));
  const about = events.filter((event) => "callId" in event && event.callId === shop.step.id);
  const decisions = about.filter((event): event is Decided => event.type === "decision-recorded");
  const starts = about.filter(({ type }) => type === "call-started");
  const ends = about.filter(({ type }) => type === "call-settled");
  const isStopped = events.some(({ type }) => type === "stop-requested");
  const [decided] = decisions;
  expect(decisions.length === 1 || (isStopped && decisions.length === 0), `${decisions.length} decisions`);
  expect(shop.ran.length === starts.length, `${starts.length} starts, and it ran ${shop.ran.length} times`);
  expect(ends.length === 1, `${ends.length} settlements`);
  if (decided?.action === "approve") {
    expect(starts.length === 1 || (isStopped && starts.length === 0), `approved, and started ${starts.length} times`);
    expect(decided.at < endOf(about, decided), "approved after its time");
    const input = decided.input ?? INPUT;
    const wanted = answers.find(({ wish }) => wish.body?.key === decided.key && wish.user === decided.by?.id)?.wish
      .body;
    expect(
      JSON.stringify(wantedIn(wanted)) === JSON.stringify(input),
      "another input was recorded than the one approved",
    );
    expect(
      shop.ran.every((ran) => JSON.stringify(ran) === JSON.stringify(input)),
      "it ran with another input",
    );
  } else expect(starts.length === 0, "it ran without an approval");
  expect(
    events.every(({ seq }, index) => seq === index + 1),
    "the log has a hole",
  );
  const thread = fold(events, emptyThread(shop.threadId));
  expect(thread.anomalies === 0, `${thread.anomalies} events that mean nothing`);
  expect(thread.active.length === 0 && thread.driverId === null, "the run has no end");
  for (const answer of answers) {
    const why = answer.wish.path.endsWith("/decisions")
      ? judgeAnswer(answer, events, decided)
      : judgeOther(answer, events);
    if (why)
      wrong.push(`${answer.wish.user} ${answer.wish.body?.key}: ${why}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
  return wrong;
}

/** Until when the question could be decided. */
function endOf(about: readonly ThreadEvent[], { seq }: Decided): number {
  const ends = about.flatMap((event) =>
    (event.type === "decision-requested" || event.type === "decision-extended") && event.seq < seq
      ? [event.expiresAt]
      : [],
  );
  return ends.at(-1) ?? Number.POSITIVE_INFINITY;
}

function wantedIn(body: Answer["wish"]["body"]): unknown {
  const [decision] = (body?.decisions ?? []) as readonly { readonly input?: unknown }[];
  return decision?.input ?? INPUT;
}

/** A decision was the one that counts, or hears what, when and by whom. */
function judgeAnswer(
  { wish, status, text }: Answer,
  events: readonly ThreadEvent[],
  decided: Decided | undefined,
): string | undefined {
  const key = wish.body?.key;
  const isMine = (event: ThreadEvent): boolean =>
    (event.type === "decision-recorded" || event.type === "decision-extended") &&
    event.key === key &&
    event.by?.id === wish.user;
  if (status === 200) {
    const mine = events.find(isMine);
    return mine && JSON.parse(text).seq === mine.seq ? undefined : "accepted, and not in the log";
  }
  if (events.some(isMine)) return "refused, and in the log";
  const { code, step } = (JSON.parse(text) as { readonly error: Refusal }).error;
  if (!decided || (decided.action === "approve" && code === "stopped")) {
    const isTrue = code === "stopped" && status === 410 && events.some(({ type }) => type === "stop-requested");
    return isTrue ? undefined : "not what happened";
  }
  if (decided.action === "expire") return code === "expired" && status === 410 ? undefined : "not what happened";
  if (code !== "decided" || status !== 409) return "not what happened";
  const { action, by, at } = step?.decision ?? {};
  const isTrue = action === decided.action && by?.id === decided.by?.id && at === decided.at;
  return isTrue ? undefined : `it does not tell that ${decided.by?.id} did ${decided.action} at ${decided.at}`;
}

/** Every other write says that it is done, and is. */
function judgeOther({ wish, status, text }: Answer, events: readonly ThreadEvent[]): string | undefined {
  if (status !== 202) return "refused";
  const { seq } = JSON.parse(text) as { readonly seq: number };
  const isDone = events.some(
    (event) => event.seq <= seq && (("key" in event && event.key === wish.body?.key) || isEnd(event)),
  );
  return isDone ? undefined : "accepted, and not in the log";
}

function isEnd({ type }: ThreadEvent): boolean {
  return type === "stop-requested" || type === "run-ended";
}

/** The same request again: what counted gets the same answer, what was refused the same reason. */
export function judgeAgain(first: Answer, again: Answer): string | undefined {
  if (first.status < 400) {
    // A stop of what is stopped already is not recorded: it says how far the log is by then.
    const isStop = first.wish.path.endsWith("/stop");
    const isSame = again.status === first.status && (isStop || again.text === first.text);
    return isSame
      ? undefined
      : `${first.wish.body?.key}, the same again: ${again.status} ${again.text}, not ${first.text}`;
  }
  if (again.status < 400)
    return `${first.wish.body?.key} was refused, and the same again: ${again.status} ${again.text}, not ${first.text}`;
  const [one, other] = [first, again].map(({ status, text }) => {
    const { code, step } = (JSON.parse(text) as { readonly error: Refusal }).error;
    return JSON.stringify([status, code, step?.id, step?.decision]);
  });
  return one === other ? undefined : `${first.wish.body?.key}, the same again: ${other}, not ${one}`;
}
