import { act, fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import type { AnyStep, TypedAgent } from "toolrun";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import { ToolRunChat, type ToolRunChatProps } from "../../src/chat/tool-run-chat.tsx";
import { accepting, at, calmClock, messageOf, renderStep, runOf, settle, stepOf, waitingOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });

function Chat({ run }: { readonly run: ChatRun }): ReactNode {
  return <ToolRunChat<TypedAgent> run={run as unknown as NonNullable<ToolRunChatProps<TypedAgent>["run"]>} />; // rename and the like are not used
}
const show = (run: ChatRun): void => {
  render(<Chat run={run} />);
  act(() => settle());
};
const names = (pattern: RegExp): string[] =>
  screen.queryAllByRole("button", { name: pattern }).map((button) => button.textContent ?? "");
const toggle = (): HTMLElement => screen.getByRole("button", { name: /Refund order/ });

const approved = {
  kind: "approval",
  action: "approve",
  via: "browser",
  at,
  digest: "digest-1",
  by: { id: "me" },
} as const;
const one = waitingOf({ id: "one", title: "First" });
const two = waitingOf({ id: "two", title: "Second" });
const running = stepOf({ id: "running", title: "Running", status: "running" });
const queued = stepOf({ id: "queued", title: "Queued", status: "queued" });
const decided = stepOf({ id: "decided", title: "Decided", status: "queued", decision: approved });
const denied = stepOf({ id: "denied", title: "Denied", status: "not-run", reason: "denied" });

/** Everything has been on screen. */
class SeesAll {
  readonly #report: (entries: unknown[]) => void;
  constructor(report: (entries: unknown[]) => void) {
    this.#report = report;
  }
  observe(target: Element): void {
    this.#report([{ isIntersecting: true, target }]);
  }
  unobserve(): void {}
  disconnect(): void {}
}

describe("which steps have buttons", () => {
  test("[#51] in a mixed set only what waits", () => {
    show(runOf([messageOf(running, one, stepOf({ id: "done", title: "Done" }))]));
    expect(names(/^Approve/)).toEqual(["Approve once"]);
    expect(names(/^Deny/)).toHaveLength(1);
  });

  test.each<[string, AnyStep]>([
    ["[#52] case 1 of 3: not what a rule allowed and what is held back", queued],
    ["[#52] case 2 of 3: not what was decided, one way or the other", decided],
    ["[#52] not what was denied", denied],
  ])("%s", (_, step) => {
    show(runOf([messageOf(step, one)]));
    expect(names(/^(Approve|Deny)/)).toHaveLength(2); // those of the step that waits
  });

  test("[#52] case 3 of 3: only what waits is counted", () => {
    show(runOf([messageOf(queued, decided, one, running, two, denied)]));
    expect(screen.getByText(/2 steps need your decision/)).toBeTruthy();
  });

  test.each<[string, AnyStep, RegExp]>([
    ["[#55] case 1 of 2: one that runs by itself says so", running, /Running/],
    ["[#55] case 2 of 2: one that is about to says so", queued, /Queued/],
  ])("%s, and has no button that decides", (_, step, words) => {
    const { container } = renderStep(step);
    expect(container.textContent).toMatch(words);
    expect(names(/Approve|Deny|Edit/)).toEqual([]);
  });
});

describe("deciding in a set", () => {
  beforeEach(() => vi.stubGlobal("IntersectionObserver", SeesAll));
  afterEach(() => vi.unstubAllGlobals());

  test("[#53] case 1 of 3: one of it is sent at once, and alone", async () => {
    const run = runOf([messageOf(one, two)], { approve: accepting() });
    show(run);
    const [first] = screen.getAllByRole("button", { name: "Approve once" });
    if (!first) throw new Error("no button");
    await user.click(first);
    expect(run.approve).toHaveBeenCalledExactlyOnceWith(one, undefined);
  });

  test("[#53] case 2 of 3: all of it in one request", async () => {
    const run = runOf([messageOf(one, two)], { approve: accepting() });
    show(run);
    await user.click(screen.getByRole("button", { name: "Approve 2" }));
    expect(run.approve).toHaveBeenCalledExactlyOnceWith([one, two]);
  });

  test("[#53] case 3 of 3: none of it in one request", async () => {
    const run = runOf([messageOf(one, two)], { deny: accepting() });
    show(run);
    await user.click(screen.getByRole("button", { name: "Deny all" }));
    expect(run.deny).toHaveBeenCalledExactlyOnceWith([one, two]);
  });
});

describe("what a card shows", () => {
  test("[#54] case 1 of 5: no arguments, in words", () => {
    renderStep(waitingOf({ input: {} }, { schema: { type: "object", properties: {} } }));
    expect(screen.getByText("No arguments")).toBeTruthy();
  });

  test("[#54] case 2 of 5: arguments that are not there are not made up", () => {
    const { container } = renderStep(waitingOf({ input: null }));
    expect(screen.queryAllByRole("definition")).toEqual([]);
    expect(container.textContent).not.toMatch(/null|undefined|\{\}/);
  });

  test("[#54] case 3 of 5: arguments as a list of fields with their titles", () => {
    renderStep(waitingOf({ input: { orderId: "1042", amount: 49.9 } }));
    expect(screen.getAllByRole("term").map((term) => term.textContent)).toEqual(["Order", "Amount"]);
  });

  test("[#54] case 4 of 5: arguments and results as plain text, and no image is loaded", () => {
    const evil = "![x](https://evil.test/?q=1) <img src=https://evil.test/>";
    const { container } = renderStep(stepOf({ input: { note: evil }, output: evil }));
    fireEvent.click(toggle());
    expect(container.querySelectorAll("img, a, iframe")).toHaveLength(0);
    expect(screen.getAllByText(/!\[x\]/).length).toBeGreaterThan(1);
  });

  test("[#54] case 5 of 5: a result that is JSON as its keys and values", () => {
    renderStep(stepOf({ output: { refunded: 20, currency: "EUR" } }));
    fireEvent.click(toggle());
    const section = screen.getByText("Result").parentElement;
    if (!section) throw new Error("no section");
    expect(
      within(section)
        .getAllByRole("term")
        .map((term) => term.textContent),
    ).toEqual(["refunded", "currency"]);
    expect(
      within(section)
        .getAllByRole("definition")
        .map((value) => value.textContent),
    ).toEqual(["20", "EUR"]);
  });
});

describe("a step as one line", () => {
  const opened = (): string | null => toggle().getAttribute("aria-expanded");

  test("[#57] case 1 of 5: one that is done says what it did, and how it ended", () => {
    const { container } = renderStep(stepOf({ summary: "49.90 EUR", startedAt: at, endedAt: at + 300 }));
    expect(container.textContent).toMatch(/Refund order.*49\.90 EUR.*Done/s);
    expect(opened()).toBe("false");
  });

  test("[#57] case 2 of 5: one that runs says so while it does", () => {
    const view = renderStep(stepOf({ status: "running" }));
    expect(view.container.textContent).toMatch(/Running/);
    view.show(stepOf());
    expect(view.container.textContent).not.toMatch(/Running/);
  });

  test("[#57] case 3 of 5: one that waits is never folded", () => {
    renderStep(waitingOf());
    expect(screen.getByRole("heading", { level: 3, name: "Refund order" })).toBeTruthy();
    expect(screen.getAllByRole("definition").length).toBeGreaterThan(0);
  });

  test("[#57] case 4 of 5: opens on its button", () => {
    renderStep(stepOf({ output: { refunded: 20 } }));
    expect(screen.queryByText("Result")).toBeNull();
    fireEvent.click(toggle());
    expect(opened()).toBe("true");
    expect(screen.getByText("Result")).toBeTruthy();
  });

  test("[#57] case 5 of 5: and closes on it again", () => {
    renderStep(stepOf({ output: { refunded: 20 } }));
    fireEvent.click(toggle());
    fireEvent.click(toggle());
    expect(opened()).toBe("false");
  });
});
