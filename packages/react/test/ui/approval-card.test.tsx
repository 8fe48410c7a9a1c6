import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, test, vi } from "vitest";
import { actionsOf, calmClock, expectAccessible, renderStep, settle, waitingOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });
const heading = (): HTMLElement => screen.getByRole("heading", { level: 3 });

describe("an approval card", () => {
  test("shows the arguments in the order of the schema with its titles, as they are", () => {
    renderStep(waitingOf({ input: { amount: 49.9, orderId: "**1042**", extra: 0 } }));
    const terms = screen.getAllByRole("term").map((term) => term.textContent);
    expect(terms).toEqual(["Order", "Amount", "Extra"]);
    const values = screen.getAllByRole("definition").map((value) => value.textContent);
    expect(values).toEqual(["**1042**", "49.9", "0"]);
  });

  test("approves the step that is shown, without an input", async () => {
    const actions = actionsOf();
    const step = waitingOf();
    renderStep(step, actions);
    await user.click(button("Approve once"));
    expect(actions.approve).toHaveBeenCalledExactlyOnceWith(step, undefined);
  });

  test("[M-47] decides once, however often the button is pressed", async () => {
    const actions = actionsOf();
    actions.approve.mockReturnValue(new Promise(() => {}));
    renderStep(waitingOf(), actions);
    const approve = button("Approve once");
    for (let click = 0; click < 20; click++) fireEvent.click(approve);
    expect(actions.approve).toHaveBeenCalledTimes(1);
    expect(approve.textContent).toBe("Sending…");
    expect(approve.getAttribute("aria-disabled")).toBe("true");
    expect(approve).toHaveProperty("disabled", false);
  });

  test("decides nothing in the half second after it came up", () => {
    const actions = actionsOf();
    renderStep(waitingOf(), actions).unmount();
    renderStepFresh(actions);
    fireEvent.click(button("Approve once"));
    expect(actions.approve).not.toHaveBeenCalled();
    act(() => settle());
    fireEvent.click(button("Approve once"));
    expect(actions.approve).toHaveBeenCalledTimes(1);
  });

  test("[M-47] says that a decision was refused, and its buttons live again", async () => {
    const actions = actionsOf({ ok: false, code: "network", message: "The server could not be reached." });
    renderStep(waitingOf(), actions);
    await user.click(button("Approve once"));
    expect((await screen.findByRole("alert")).textContent).toContain("Not sent. The server could not be reached.");
    await user.click(button("Approve once"));
    expect(actions.approve).toHaveBeenCalledTimes(2);
  });

  test("shows a decision that is on its way as Sending", () => {
    renderStep(waitingOf({ sending: true }));
    expect(button("Sending…").getAttribute("aria-disabled")).toBe("true");
  });

  test("has no primary button when it is destructive, and the verb on it", () => {
    renderStep(waitingOf({ destructive: true, title: "Delete 3 files" }));
    expect(button("Approve: Delete 3 files").className).not.toContain("tr-primary");
    expect(screen.getByText("Cannot be undone")).toBeTruthy();
  });

  test("has no buttons for somebody who may not decide", () => {
    renderStep(waitingOf(), undefined, { actions: null });
    expect(screen.queryAllByRole("button")).toEqual([]);
    expect(screen.getByText("Waiting for someone who may decide.")).toBeTruthy();
  });

  test("says until when it can be decided", () => {
    renderStep(waitingOf({}, { expiresAt: Date.now() + 9 * 60_000 }));
    expect(screen.getByText(/expires in 9 min/)).toBeTruthy();
  });
});

describe("hidden characters", () => {
  const hidden = waitingOf({ input: { orderId: "10\u202e42", amount: 1, note: "a\u200bb" } });

  test("[M-44] are shown as codes", () => {
    renderStep(hidden);
    expect(screen.getByText("U+202E")).toBeTruthy();
    expect(screen.getByText("U+200B")).toBeTruthy();
    expect(screen.getByText(/Contains 2 hidden characters/)).toBeTruthy();
  });

  test("hold Approve back until the person has checked them", async () => {
    const actions = actionsOf();
    renderStep(hidden, actions);
    await user.click(button("Approve once"));
    expect(actions.approve).not.toHaveBeenCalled();
    expect(document.activeElement).toBe(button("I have checked them"));
    await user.click(button("I have checked them"));
    await user.click(button("Approve once"));
    expect(actions.approve).toHaveBeenCalledTimes(1);
  });

  test("do not include the joiners of an emoji", () => {
    renderStep(waitingOf({ input: { note: "👩‍💻 ❤️ fine" } }));
    expect(screen.queryByText(/hidden character/)).toBeNull();
  });
});

describe("keys", () => {
  test("A approves, E edits and D denies while focus is in the card", async () => {
    const actions = actionsOf();
    renderStep(waitingOf(), actions);
    heading().focus();
    await user.keyboard("d");
    expect(screen.getByLabelText(/Tell the assistant why/)).toBe(document.activeElement);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(button("Deny…")));
    await user.keyboard("e");
    expect(button("Back")).toBeTruthy();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(button("Edit…")));
    await user.keyboard("a");
    expect(actions.approve).toHaveBeenCalledTimes(1);
  });

  test("do nothing when held down, with a modifier, in a field or outside the card", async () => {
    const actions = actionsOf();
    renderStep(waitingOf(), actions);
    fireEvent.keyDown(heading(), { key: "a", repeat: true });
    fireEvent.keyDown(heading(), { key: "a", ctrlKey: true });
    fireEvent.keyDown(document.body, { key: "a" });
    await user.click(button("Deny…"));
    await user.keyboard("aed");
    expect(screen.getByLabelText(/Tell the assistant why/)).toHaveProperty("value", "aed");
    expect(actions.approve).not.toHaveBeenCalled();
    expect(actions.deny).not.toHaveBeenCalled();
  });
});

describe("denying", () => {
  test("Enter denies with the reason", async () => {
    const actions = actionsOf();
    const step = waitingOf();
    renderStep(step, actions);
    await user.click(button("Deny…"));
    await user.keyboard("wrong order{Enter}");
    expect(actions.deny).toHaveBeenCalledExactlyOnceWith(step, { reason: "wrong order" });
  });

  test("a held Enter denies nothing", async () => {
    const actions = actionsOf();
    renderStep(waitingOf(), actions);
    await user.click(button("Deny…"));
    const field = screen.getByLabelText(/Tell the assistant why/);
    expect(fireEvent.keyDown(field, { key: "Enter", repeat: true })).toBe(false);
    expect(actions.deny).not.toHaveBeenCalled();
  });

  test("a chip writes the reason, and Deny and stop ends the run as well", async () => {
    const actions = actionsOf();
    const step = waitingOf();
    renderStep(step, actions);
    await user.click(button("Deny…"));
    await user.click(button("Wrong target"));
    await user.click(button("Deny and stop"));
    expect(actions.deny).toHaveBeenCalledExactlyOnceWith(step, { reason: "Wrong target", stop: true });
  });

  test("Escape goes back, keeps the reason and never denies", async () => {
    const actions = actionsOf();
    renderStep(waitingOf(), actions);
    await user.click(button("Deny…"));
    await user.keyboard("because{Escape}");
    await user.click(button("Deny…"));
    expect(screen.getByLabelText(/Tell the assistant why/)).toHaveProperty("value", "because");
    expect(actions.deny).not.toHaveBeenCalled();
  });
});

test.each([
  ["an approval", waitingOf()],
  ["a destructive approval", waitingOf({ destructive: true })],
  ["hidden characters", waitingOf({ input: { note: "a\u200bb" } })],
])("%s has no accessibility violations, also while editing and denying", async (_, step) => {
  const { container } = renderStep(step);
  await user.click(button("Edit…"));
  await expectAccessible(container);
  fireEvent.click(button("Back"));
  fireEvent.click(button("Deny…"));
  await expectAccessible(container);
});

function renderStepFresh(actions: ReturnType<typeof actionsOf>): void {
  vi.useFakeTimers({ now: Date.now() });
  const advance = vi.spyOn(vi, "advanceTimersByTime").mockImplementation(() => vi);
  renderStep(waitingOf(), actions);
  advance.mockRestore();
}
