import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Ask, Decision, Grant } from "toolrun";
import { describe, expect, test, vi } from "vitest";
import { actionsOf, at, calmClock, expectAccessible, renderStep, settle, stepOf, waitingOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });
const buttons = (): readonly (string | null)[] => screen.getAllByRole("button").map((each) => each.textContent);
const all: Partial<Ask> = { scopes: ["once", "run", "thread"] };
const panel = (): HTMLElement => screen.getByRole("group", { name: "Approve, and don't ask again" });

describe("an approval that is remembered", () => {
  test.each<[string, Partial<Ask>, readonly string[]]>([
    ["nothing but once", { scopes: ["once"] }, []],
    ["nothing, as an older server", {}, []],
    ["the run", { scopes: ["once", "run"] }, ["For this run"]],
    ["run and thread", all, ["For this run", "For this conversation"]],
  ])("is offered for %s, and never by the first button", async (_, ask, offered) => {
    renderStep(waitingOf({}, ask));
    const rest = offered.length > 0 ? ["Don't ask again…"] : [];
    expect(buttons()).toEqual(["Approve once", "Edit…", "Deny…", ...rest]);
    if (offered.length === 0) return;
    await user.click(button("Don't ask again…"));
    expect(buttons()).toEqual([...offered, "Back"]);
  });

  test.each<[string, Ask["grant"], string]>([
    ["nothing else is said", undefined, "Covers: the same arguments."],
    ["the rule has a name for it", { label: "Mails to Mia" }, "Covers: Mails to Mia."],
    [
      "it is limited",
      { label: "Mails to Mia", uses: 5, forMs: 3_600_000 },
      "Covers: Mails to Mia, up to 5 more times, for 1 h.",
    ],
    [
      "it is for once more, for a while",
      { uses: 1, forMs: 90_000 },
      "Covers: the same arguments, up to 1 more time, for 90 s.",
    ],
  ])("says what it covers, how often and how long: %s", async (_, grant, words) => {
    renderStep(waitingOf({}, { ...all, grant }));
    await user.click(button("Don't ask again…"));
    expect(screen.getByText(words)).toBeTruthy();
  });

  test("by keyboard: Enter opens, focus is on no button that approves, Escape goes back, Tab and Space decide", async () => {
    const actions = actionsOf();
    const step = waitingOf({}, all);
    renderStep(step, actions);
    act(() => button("Don't ask again…").focus());
    await user.keyboard("{Enter}");
    expect(document.activeElement).toBe(panel());
    await user.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(button("Don't ask again…")));
    await user.keyboard("{Enter}");
    act(() => settle());
    await user.keyboard("{Tab}{Tab}");
    expect(document.activeElement).toBe(button("For this conversation"));
    await user.keyboard(" ");
    expect(actions.approve).toHaveBeenCalledExactlyOnceWith(step, { scope: "thread" });
  });

  test("letters decide nothing while it is open, and a second click of a double click neither", async () => {
    const actions = actionsOf();
    vi.useFakeTimers({ now: at }); // not by itself: the half second is the point
    renderStep(waitingOf({}, all), actions);
    fireEvent.click(button("Don't ask again…"));
    fireEvent.click(button("For this run"));
    fireEvent.keyDown(panel(), { key: "a" });
    expect(actions.approve).not.toHaveBeenCalled();
    act(() => settle());
    fireEvent.click(button("For this run"));
    expect(actions.approve).toHaveBeenCalledTimes(1);
  });

  test("is held back by characters nobody has checked", async () => {
    const actions = actionsOf();
    renderStep(waitingOf({ input: { note: "a\u200bb" } }, all), actions);
    await user.click(button("Don't ask again…"));
    act(() => settle());
    await user.click(button("For this run"));
    expect(actions.approve).not.toHaveBeenCalled();
    expect(document.activeElement).toBe(button("I have checked them"));
  });

  test("that was refused says why, and can be sent again", async () => {
    const actions = actionsOf({ ok: false, code: "network", message: "The server could not be reached." });
    renderStep(waitingOf({}, all), actions);
    await user.click(button("Don't ask again…"));
    act(() => settle());
    await user.click(button("For this run"));
    expect((await screen.findByRole("alert")).textContent).toContain("Not sent.");
    await user.click(button("For this run"));
    expect(actions.approve).toHaveBeenCalledTimes(2);
  });
});

describe("a denial", () => {
  test("is remembered where the box is ticked, and says what that covers", async () => {
    const actions = actionsOf();
    const step = waitingOf({}, { grant: { label: "Mails to Mia", uses: 5 } });
    renderStep(step, actions);
    await user.click(button("Deny…"));
    await user.click(screen.getByRole("checkbox", { name: "Don't ask again in this conversation" }));
    expect(screen.getByText("Covers: Mails to Mia.")).toBeTruthy();
    await user.click(button("Deny"));
    expect(actions.deny).toHaveBeenCalledExactlyOnceWith(step, { scope: "thread" });
  });

  test("that came before is said on the card, with who, when and why", () => {
    const denied = { at: at - 60_000, by: { id: "dana", name: "Dana" }, reason: "not\u200b this one" };
    const { container } = renderStep(waitingOf({}, { denied }));
    expect(container.textContent).toContain("Denied before in this run by Dana.");
    expect(container.querySelector("q")?.textContent).toBe("notU+200B this one");
    expect(container.querySelector(".tr-notice time")?.getAttribute("datetime")).toBe(
      new Date(at - 60_000).toISOString(),
    );
  });

  test("of one's own is said to be so", () => {
    const { container } = renderStep(waitingOf({}, { denied: { at, by: { id: "me" } } }), undefined, { me: "me" });
    expect(container.textContent).toContain("Denied before in this run by you.");
    expect(container.querySelector("q")).toBeNull();
  });
});

describe("a question that runs out", () => {
  const timed = waitingOf({}, { expiresAt: at + 50_000, extendMs: 600_000 });

  test("can be made to wait longer, once for each press", async () => {
    const actions = actionsOf();
    actions.extend.mockReturnValueOnce(new Promise(() => {}));
    renderStep(timed, actions);
    await user.click(button("Keep waiting 10 min"));
    await user.click(button("Sending…"));
    expect(actions.extend).toHaveBeenCalledExactlyOnceWith(timed);
    expect(button("Approve once").getAttribute("aria-disabled")).toBeNull(); // it decides nothing
  });

  test("that cannot wait longer says so, and keeps its buttons", async () => {
    const actions = actionsOf({ ok: false, code: "expired", message: "Nobody answered in time." });
    renderStep(timed, actions);
    await user.click(button("Keep waiting 10 min"));
    expect((await screen.findByRole("alert")).textContent).toBe("Not sent. Nobody answered in time.");
    expect(button("Keep waiting 10 min").getAttribute("aria-disabled")).toBeNull();
  });

  test.each<[string, Partial<Ask>, null | undefined]>([
    ["where it must end", { expiresAt: at + 50_000 }, undefined],
    ["where it has no end", {}, undefined],
    ["for somebody who may not decide", { expiresAt: at + 50_000, extendMs: 600_000 }, null],
  ])("has no such button %s", (_, ask, actions) => {
    renderStep(waitingOf({}, ask), undefined, actions === null ? { actions } : {});
    expect(screen.queryByRole("button", { name: /Keep waiting/ })).toBeNull();
  });
});

describe("a step that nobody was asked about", () => {
  const grant: Grant = {
    ...({ grantId: "g-1", seq: 1, verdict: "allow", path: [], tool: "refundOrder", input: null } as const),
    ...({ used: 1, scope: "thread", by: { id: "me" }, at } as const),
  };

  test("says whose earlier decision it was, and leads to it", async () => {
    const onShowGrant = vi.fn();
    const { container } = renderStep(stepOf({ grantId: "g-1" }), undefined, { me: "me", grants: [grant], onShowGrant });
    expect(container.textContent).toContain("Approved earlier by you.");
    await user.click(button("Show it"));
    expect(onShowGrant).toHaveBeenCalledExactlyOnceWith("g-1");
  });

  test("leads nowhere when the decision was taken back", () => {
    const { container } = renderStep(stepOf({ grantId: "g-2" }), undefined, { grants: [grant], onShowGrant: vi.fn() });
    expect(container.textContent).toContain("Approved by an earlier decision.");
    expect(screen.queryByRole("button", { name: "Show it" })).toBeNull();
  });

  test("and was refused says so, with the reason that was given", () => {
    const denial: Grant = { ...grant, verdict: "deny", reason: "never 9" };
    const step = stepOf({ status: "not-run", reason: "blocked", grantId: "g-1" });
    const { container } = renderStep(step, undefined, { me: "me", grants: [denial] });
    expect(container.textContent).toContain("Denied earlier by you: never 9");
  });

  test("was let go together with another", () => {
    const decision: Decision = {
      ...({ kind: "approval", action: "approve", via: "browser", at, digest: "" } as const),
      ...{ by: { id: "me" }, grantId: "g-1" },
    };
    const { container } = renderStep(stepOf({ decision, grantId: "g-1" }), undefined, { me: "me", grants: [grant] });
    expect(container.textContent).toContain("Approved by you (together with another step)");
  });
});

test.each<[string, Partial<Ask>]>([
  ["all scopes", all],
  ["a denial before", { denied: { at, by: { id: "me" }, reason: "no" } }],
  ["an end", { expiresAt: at + 50_000, extendMs: 600_000 }],
])("a card with %s has no accessibility violations, also while remembering and denying", async (_, ask) => {
  const { container } = renderStep(waitingOf({}, { ...all, ...ask }));
  fireEvent.click(button("Don't ask again…"));
  await expectAccessible(container);
  fireEvent.click(button("Back"));
  fireEvent.click(button("Deny…"));
  fireEvent.click(screen.getByRole("checkbox"));
  await expectAccessible(container);
});
