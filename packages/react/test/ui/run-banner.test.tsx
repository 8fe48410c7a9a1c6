import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { LimitName } from "toolrun";
import { expect, test, vi } from "vitest";
import { RunBanner } from "../../src/chat/run-banner.tsx";
import { StepContext } from "../../src/step/step-context.ts";
import { en } from "../../src/strings.ts";
import { accepting, actionsOf, calmClock, expectAccessible, messageOf, runOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const show = (run: ReturnType<typeof runOf>) =>
  render(
    <StepContext.Provider value={{ strings: en, actions: actionsOf() }}>
      <RunBanner run={run} />
    </StepContext.Provider>,
  );
const limited = (limit: LimitName) =>
  runOf([messageOf("Enough.")], { outcome: "limited", limit, continue: accepting() });

test.each<[LimitName, RegExp]>([
  ["turns", /limit of rounds/],
  ["calls", /limit of steps/],
  ["tokens", /token limit/],
  ["time", /time limit/],
  ["repeats", /in circles/],
  ["failures", /failed in a row/],
  ["completion", /did not pass its check/],
])("the limit of %s is said in words, and one can go on", async (limit, words) => {
  const run = limited(limit);
  const { container } = show(run);
  expect(container.textContent).toMatch(words);
  expect(container.textContent).toContain("Nothing was lost.");
  await user.click(screen.getByRole("button", { name: "Continue" }));
  expect(run.continue).toHaveBeenCalledOnce();
  await expectAccessible(container);
});

test.each<[LimitName, RegExp]>([
  ["depth", /too deep/],
  ["log-size", /Start a new one/],
])("the limit of %s would only be reached again: nobody is offered to go on", (limit, words) => {
  const { container } = show(limited(limit));
  expect(container.textContent).toMatch(words);
  expect(screen.queryByRole("button")).toBeNull();
});

test("who may not write is not offered to go on, whoever may decide", () => {
  show({ ...limited("turns"), access: { send: false, decide: true, remove: false } });
  expect(screen.queryByRole("button")).toBeNull();
});
