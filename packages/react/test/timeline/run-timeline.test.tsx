import { render, screen, within } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import type { ViewTurn } from "toolrun";
import { expect, test } from "vitest";
import { de } from "../../src/strings/de.ts";
import { RunTimeline, type TimelineRun } from "../../src/timeline.ts";
import { at, calmClock, expectAccessible, stepOf, waitingOf } from "../ui/fixtures.tsx";

calmClock();

const child = stepOf({
  id: "pay",
  title: "Give money back",
  summary: "1042",
  startedAt: at - 4_000,
  endedAt: at - 3_000,
});
const research = stepOf({
  id: "research",
  title: "Researcher",
  startedAt: at - 8_000,
  endedAt: at - 2_000,
  attempt: 2,
  children: [child],
});
const refund = waitingOf({ id: "refund", title: "Refund order", askedAt: at - 7_000 }, { askedAt: at - 7_000 });
const turn: ViewTurn = {
  turn: 1,
  model: "m",
  status: "ended",
  attempt: 1,
  startedAt: at - 10_000,
  endedAt: at - 8_500,
  usage: { inputTokens: 1_200, outputTokens: 40 },
  steps: [research, refund],
};
const inner: ViewTurn = { ...turn, parentId: "research", startedAt: at - 7_000, endedAt: at - 6_000, steps: [child] };
const runOf = (turns: readonly ViewTurn[], status: TimelineRun["status"]): TimelineRun => ({
  turns,
  status,
  clockOffsetMs: 0,
});

test("says in words how long each round and step took, what waited, and the tokens", async () => {
  const { container } = render(<RunTimeline run={runOf([turn, inner], "waiting")} />);
  const region = screen.getByRole("region", { name: "Timeline" });
  expect(region.tabIndex).toBe(0);
  expect(region.querySelector("p")?.textContent).toBe("9.5 s in all · waited 7.0 s · 2,400 tokens in, 80 out");
  const lines = [...region.querySelectorAll(".tr-time-line")].map((line) =>
    line.textContent?.replace(/\s+/g, " ").trim(),
  );
  expect(lines).toEqual([
    "Round 11.5 s · 1,200 tokens in, 40 out",
    "Researcher Done · attempt 2 · 6.0 s",
    "Round 11.0 s · 1,200 tokens in, 40 out",
    "Give money back 1042Done · 1.0 s",
    "Refund order Waiting · waited 7.0 s",
  ]);
  await expectAccessible(container);
});

test("the rounds of a sub-agent are a list inside the step that runs it", () => {
  render(<RunTimeline run={runOf([turn, inner], "waiting")} />);
  const step = screen.getByText("Researcher").closest("li");
  expect(within(step as HTMLElement).getByText("Give money back")).toBeTruthy();
  expect(screen.getAllByRole("list")).toHaveLength(4);
});

test("bars are not spoken, and no style is in the markup, on the server either", () => {
  const tree = <RunTimeline run={runOf([turn, inner], "waiting")} />;
  const { container } = render(tree);
  expect([...container.querySelectorAll("rect")].map((bar) => bar.getAttribute("data-kind"))).toEqual([
    "model",
    "work",
    "model",
    "work",
    "wait",
  ]);
  for (const bar of container.querySelectorAll("svg")) expect(bar.getAttribute("aria-hidden")).toBe("true");
  expect(container.innerHTML + renderToString(tree)).not.toContain("style=");
});

test("says so while nothing has run, and in the app's words", () => {
  const { rerender } = render(<RunTimeline run={runOf([], "idle")} />);
  expect(screen.getByText("Nothing has run yet.")).toBeTruthy();
  rerender(<RunTimeline run={runOf([turn], "ended")} strings={de} />);
  expect(screen.getByRole("region", { name: "Ablauf" }).textContent).toContain("1.200 Tokens hinein");
});

test("a round that is under way or failed says so", () => {
  const open = { ...turn, status: "open", endedAt: undefined, steps: [], usage: undefined, attempt: 2 } as const;
  const { rerender } = render(<RunTimeline run={runOf([open], "running")} />);
  expect(screen.getByText("Working · attempt 2 · 10 s")).toBeTruthy();
  rerender(<RunTimeline run={runOf([{ ...open, status: "failed", endedAt: at - 9_000 }], "ended")} />);
  expect(screen.getByText("Failed · attempt 2 · 1.0 s")).toBeTruthy();
});
