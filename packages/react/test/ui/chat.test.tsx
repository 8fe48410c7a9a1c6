import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import type { TypedAgent } from "toolrun";
import { describe, expect, test, vi } from "vitest";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import { ToolRunChat, type ToolRunChatProps } from "../../src/chat/tool-run-chat.tsx";
import {
  accepting,
  calmClock,
  expectAccessible,
  messageOf,
  runOf,
  saidOf,
  settle,
  stepOf,
  waitingOf,
} from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
type Props = ToolRunChatProps<TypedAgent>;

function Chat({ run, ...props }: { readonly run: ChatRun } & Omit<Props, "run">): ReactNode {
  return <ToolRunChat<TypedAgent> {...props} run={run as unknown as NonNullable<Props["run"]>} />; // rename and the like are not used
}
const show = (run: ChatRun, props: Omit<Props, "run"> = {}) => {
  const view = render(<Chat run={run} {...props} />);
  act(() => settle());
  return { ...view, next: (next: ChatRun) => view.rerender(<Chat run={next} {...props} />) };
};
const composer = (): HTMLElement => screen.getByRole("textbox", { name: "Message" });
const first = waitingOf({ id: "one", title: "First" });
const second = waitingOf({ id: "two", title: "Second" });

describe("an empty conversation", () => {
  test("offers suggestions that are sent when pressed", async () => {
    const run = runOf([], { send: accepting() });
    const { container } = show(run, { suggestions: ["Refund order 1042"] });
    await user.click(screen.getByRole("button", { name: "Refund order 1042" }));
    expect(run.send).toHaveBeenCalledExactlyOnceWith("Refund order 1042");
    await expectAccessible(container);
  });
});

describe("the transcript", () => {
  test("is a log that does not speak, with one article per message", () => {
    show(runOf([saidOf("Hello"), messageOf("Hi")]));
    const log = screen.getByRole("log", { name: "Conversation" });
    expect(log.getAttribute("aria-live")).toBe("off");
    expect(log.tabIndex).toBe(0);
    expect(within(log).getAllByRole("article")).toHaveLength(2);
  });

  test("makes links of web addresses only", () => {
    const { container } = show(runOf([messageOf("See https://shop.example/a. And javascript:alert(1) <img src=x>")]));
    const links = [...container.querySelectorAll("a")];
    expect(links.map((link) => link.getAttribute("href"))).toEqual(["https://shop.example/a"]);
    expect(links[0]?.rel).toBe("noopener noreferrer nofollow");
    expect(container.querySelector("img")).toBeNull();
  });

  test("says that the assistant thinks, and which message waits", () => {
    const later = saidOf("And then?", "later");
    show(runOf([messageOf(first), later], { queued: [later] }));
    expect(screen.getByText("Waits for your decision")).toBeTruthy();
  });
});

describe("focus", () => {
  test("moves to the next pending card's heading in the handler of the decision, then to the composer", () => {
    const never = { approve: () => new Promise<never>(() => {}) };
    const view = show(runOf([messageOf(first, second)], never));
    const card = (name: string): HTMLElement => screen.getByRole("group", { name });
    fireEvent.click(within(card("First")).getByRole("button", { name: "Approve once" }));
    expect(document.activeElement).toBe(screen.getByRole("heading", { name: "Second" }));
    view.next(runOf([messageOf(stepOf({ ...first, status: "running", ask: null }), second)], never));
    fireEvent.click(within(card("Second")).getByRole("button", { name: "Approve once" }));
    expect(document.activeElement).toBe(composer());
  });

  test("stays where it is when a card arrives", () => {
    const view = show(runOf([saidOf("Hello")], { status: "running" }));
    composer().focus();
    view.next(runOf([saidOf("Hello"), messageOf(first)]));
    expect(document.activeElement).toBe(composer());
  });

  test("does not fall to the page when a focused card is decided elsewhere", async () => {
    const view = show(runOf([messageOf(first)]));
    screen.getByRole("heading", { name: "First" }).focus();
    view.next(runOf([messageOf(stepOf({ ...first, status: "running", ask: null }))], { status: "running" }));
    await act(async () => {});
    expect(document.activeElement).not.toBe(document.body);
  });

  test("F8 goes round the cards that wait, Shift+F8 the other way", async () => {
    show(runOf([messageOf(first, second)]));
    const heading = (name: string): HTMLElement => screen.getByRole("heading", { name });
    await user.keyboard("{F8}");
    expect(document.activeElement).toBe(heading("First"));
    await user.keyboard("{F8}");
    expect(document.activeElement).toBe(heading("Second"));
    await user.keyboard("{F8}");
    expect(document.activeElement).toBe(heading("First"));
    await user.keyboard("{Shift>}{F8}{/Shift}");
    expect(document.activeElement).toBe(heading("Second"));
  });
});

describe("the pending bar", () => {
  const child = waitingOf({ id: "child", title: "Second" });
  const parent = stepOf({ id: "parent", title: "Researcher", status: "running", children: [child] });
  const browser = stepOf({
    id: "where",
    status: "waiting",
    ask: { kind: "browser", digest: "digest-1", askedAt: first.ask?.askedAt ?? 0 },
  });

  test("counts the steps of sub-agents, and F8 goes to them", async () => {
    show(runOf([messageOf(first, parent)]));
    expect(screen.getByText("2 steps need you")).toBeTruthy();
    await user.keyboard("{F8}{F8}");
    expect(document.activeElement).toBe(screen.getByRole("heading", { name: "Second" }));
  });

  test("leaves out what a browser is doing, and names a step that none does", () => {
    const view = show(runOf([messageOf(browser)], { browserSteps: { where: "here" } }));
    expect(screen.queryByText(/need(s)? you/)).toBeNull();
    view.next(runOf([messageOf(browser)]));
    expect(screen.getByText("1 step needs you")).toBeTruthy();
  });
});

describe("the composer", () => {
  test("Enter sends, Shift+Enter breaks the line, and a word being composed is left alone", async () => {
    const run = runOf([], { send: accepting() });
    show(run);
    await user.type(composer(), "a{Shift>}{Enter}{/Shift}b");
    fireEvent.keyDown(composer(), { key: "Enter", isComposing: true });
    expect(run.send).not.toHaveBeenCalled();
    await user.keyboard("{Enter}");
    expect(run.send).toHaveBeenCalledExactlyOnceWith("a\nb", undefined);
    expect(composer()).toHaveProperty("value", "");
  });

  test("gives the text back when it could not be sent", async () => {
    const refusal = { ok: false, code: "network", message: "The server could not be reached." } as const;
    show(runOf([], { send: () => Promise.resolve(refusal) }));
    await user.type(composer(), "Hello{Enter}");
    await waitFor(() => expect(composer()).toHaveProperty("value", "Hello"));
    expect(screen.getByText(/Not sent\. The server/)).toBeTruthy();
  });

  test("while a decision is open, sends after it or denies all first", async () => {
    const run = runOf([messageOf(first)], { send: accepting() });
    const { container } = show(run);
    await user.type(composer(), "Wait");
    await user.click(screen.getByRole("button", { name: "Deny all and send now" }));
    expect(run.send).toHaveBeenCalledExactlyOnceWith("Wait", { pending: "deny" });
    await user.type(composer(), "Later");
    await user.click(screen.getByRole("button", { name: "Send after deciding" }));
    expect(run.send).toHaveBeenLastCalledWith("Later", undefined);
    await expectAccessible(container);
  });

  test("has Stop while the assistant works; Escape twice is Stop too", async () => {
    const run = runOf([saidOf("Hello")], { status: "running", stop: accepting() });
    const view = show(run);
    await user.click(screen.getByRole("button", { name: "Stop" }));
    await user.click(composer());
    await user.keyboard("{Escape}{Escape}");
    expect(run.stop).toHaveBeenCalledTimes(2);
    view.next({ ...run, stopping: true });
    expect(screen.getByRole("button", { name: "Stopping…" }).getAttribute("aria-disabled")).toBe("true");
  });

  test("is not there for somebody who may not write", () => {
    show(runOf([], { access: { send: false, decide: false, remove: false } }));
    expect(screen.queryByRole("textbox")).toBeNull();
  });
});

describe("a batch", () => {
  const all = [first, second, waitingOf({ id: "three", title: "Third", destructive: true })];

  test("is counted, and can be denied at once", async () => {
    const run = runOf([messageOf(...all)], { deny: accepting() });
    const { container } = show(run);
    expect(screen.getByText(/3 steps need your decision/)).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Deny all" }));
    expect(run.deny).toHaveBeenCalledExactlyOnceWith(all);
    await expectAccessible(container);
  });

  test("approves together only what was seen and is not destructive", async () => {
    vi.stubGlobal("IntersectionObserver", SeesEverything);
    const run = runOf([messageOf(...all)], { approve: accepting() });
    show(run);
    await user.click(screen.getByRole("button", { name: "Approve 2" }));
    expect(run.approve).toHaveBeenCalledExactlyOnceWith([first, second]);
    vi.unstubAllGlobals();
  });
});

describe("how a run ended", () => {
  test.each([
    ["limited", { outcome: "limited", limit: "turns" }, /limit of rounds was reached.*Nothing was lost/],
    ["stopped", { outcome: "stopped" }, /Stopped\./],
    ["failed", { outcome: "failed", code: "model-failed" }, /model did not answer\..*model-failed/],
  ] as const)("%s: says why, and goes on when asked", async (_, end, words) => {
    const run = runOf([saidOf("Hello"), messageOf("Hm")], {
      ...end,
      continue: accepting(),
    });
    const { container } = show(run);
    expect(container.textContent).toMatch(words);
    await user.click(screen.getByRole("button", { name: "Continue" }));
    expect(run.continue).toHaveBeenCalledTimes(1);
    await expectAccessible(container);
  });

  test("an error of the server comes with its reference", () => {
    show(runOf([saidOf("Hello")], { error: { code: "internal", message: "It broke.", reference: "r-1" } }));
    expect(screen.getByText(/It broke\./).textContent).toContain("Reference r-1");
  });
});

test("a lost connection is shown after three seconds, not before", () => {
  const { container } = show(runOf([saidOf("Hello")], { status: "running", connection: { status: "offline" } }));
  expect(container.querySelector("[data-connection]")).toBeNull();
  act(() => settle(3_000));
  expect(container.querySelector("[data-connection=offline]")).not.toBeNull();
});

test("the title of the page says that a decision waits, and is given back", () => {
  document.title = "Shop";
  const { unmount, next } = show(runOf([messageOf(first)]));
  expect(document.title).toBe("(1) Approval needed · Shop");
  next(runOf([messageOf("Done")]));
  expect(document.title).toBe("Shop");
  next(runOf([messageOf(first, second)]));
  expect(document.title).toBe("(2) Approval needed · Shop");
  unmount();
  expect(document.title).toBe("Shop");
});

class SeesEverything implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = "";
  readonly scrollMargin = "";
  readonly thresholds = [];
  readonly #report: IntersectionObserverCallback;
  constructor(report: IntersectionObserverCallback) {
    this.#report = report;
  }
  observe(target: Element): void {
    this.#report([{ isIntersecting: true, target } as unknown as IntersectionObserverEntry], this); // all that is read
  }
  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): IntersectionObserverEntry[] {
    return [];
  }
}
