import { fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { AnyStep } from "toolrun";
import { describe, expect, test, vi } from "vitest";
import { actionsOf, at, calmClock, expectAccessible, renderStep, stepOf, waitingOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const toggle = (): HTMLElement => screen.getByRole("button", { name: /Refund order/ });
const decision = (given: Partial<Decision> & Pick<Decision, "action">): Decision => ({
  kind: "approval",
  via: "browser",
  at,
  digest: "",
  by: { id: "me" },
  ...given,
});
type Decision = NonNullable<AnyStep["decision"]>;

const states: readonly (readonly [string, AnyStep, RegExp])[] = [
  ["writing", stepOf({ status: "writing", input: null, draft: '{"amount":4' }), /Preparing.*\{"amount":4/s],
  ["queued", stepOf({ status: "queued" }), /Queued/],
  [
    "approved",
    stepOf({ status: "queued", decision: decision({ action: "approve" }) }),
    /Approved, starting.*Approved by you/s,
  ],
  [
    "running",
    stepOf({ status: "running", progress: { value: 3, max: 8, label: "Page 3" } }),
    /Running.*3 of 8 · Page 3/s,
  ],
  [
    "retrying",
    stepOf({ status: "running", retryAt: at + 3_000, lastError: "HTTP 500" }),
    /Trying again.*Next try in \d s · attempt 2.*Last: HTTP 500/s,
  ],
  [
    "running again",
    stepOf({ status: "running", attempt: 2, lastError: "HTTP 500" }),
    /Running.*Attempt 2.*Last: HTTP 500/s,
  ],
  ["answered", stepOf({ decision: decision({ action: "answer", value: "Card" }) }), /Answered by you: Card/],
  [
    "approved and answered",
    stepOf({
      earlier: [decision({ action: "approve" })],
      decision: decision({ action: "answer", at: at + 1, value: { secret: true } }),
    }),
    /Approved by you.*Answered by you(?!:)/s,
  ],
  ["succeeded", stepOf({ output: 1, startedAt: at, endedAt: at + 1_200 }), /Done.*1\.2 s/s],
  [
    "failed",
    stepOf({ status: "failed", error: { code: "tool-error", message: "No money." } }),
    /Failed.*This step failed\. No money\./s,
  ],
  [
    "timed out",
    stepOf({ status: "failed", effect: "unknown", error: { code: "timed-out", message: "" } }),
    /took too long.*may have had its effect/s,
  ],
  [
    "denied",
    stepOf({ status: "not-run", reason: "denied", decision: decision({ action: "deny", reason: "No" }) }),
    /Denied by you: No/,
  ],
  [
    "denied elsewhere",
    stepOf({
      status: "not-run",
      reason: "denied",
      decision: decision({ action: "deny", by: { id: "d", name: "Dana" } }),
    }),
    /Denied by Dana/,
  ],
  [
    "expired",
    stepOf({ status: "not-run", reason: "expired", decision: decision({ action: "expire" }) }),
    /Expired at .* not run/,
  ],
  ["stopped", stepOf({ status: "not-run", reason: "stopped" }), /Not run/],
  [
    "skipped",
    stepOf({ status: "not-run", reason: "skipped", decision: decision({ action: "skip" }) }),
    /Skipped by you/,
  ],
  ["blocked", stepOf({ status: "not-run", reason: "blocked" }), /Blocked/],
  ["allowed by a grant", stepOf({ grantId: "g" }), /Approved by an earlier decision\./],
];

test.each(states)("a step that is %s says so in words, and is accessible", async (_, step, words) => {
  const { container } = renderStep(step, undefined, { me: "me" });
  expect(container.textContent).toMatch(words);
  fireEvent.click(toggle());
  await expectAccessible(container);
});

test("a changed approval says how many values were changed", () => {
  const changed = decision({ action: "approve", originalInput: { orderId: "1042", amount: 60 } });
  renderStep(stepOf({ decision: changed, summary: "60.00 EUR" }), undefined, { me: "me" });
  expect(screen.queryByText("60.00 EUR")).toBeNull(); // said of what was asked for, not of what ran
  expect(screen.getByText("Approved by you with 1 change")).toBeTruthy();
});

test("progress with a total is a progress bar with a name", () => {
  renderStep(stepOf({ status: "running", progress: { value: 3, max: 8 } }));
  const bar = screen.getByRole("progressbar", { name: "Refund order" });
  expect([bar.getAttribute("value"), bar.getAttribute("max")]).toEqual(["3", "8"]);
});

test("log lines are text without the codes of terminals", () => {
  renderStep(stepOf({ status: "running", log: ["\u001b[31mred\u001b[0m", "<b>bold</b>"] }));
  expect(screen.getByRole("region", { name: "Log" }).textContent).toBe("red\n<b>bold</b>");
});

describe("a result", () => {
  test.each([
    [0, "0"],
    [false, "false"],
    ["", "empty text"],
    [null, "null"],
    [[], "empty list"],
    [{}, "empty"],
  ])("%j is shown", async (output, words) => {
    renderStep(stepOf({ output, input: { a: 1 } }));
    await user.click(toggle());
    const section = screen.getByText("Result").parentElement;
    expect(section?.textContent).toBe(`Result${words}`);
  });

  test("of flat objects is a table, cut with a way to the rest", async () => {
    renderStep(stepOf({ output: Array.from({ length: 23 }, (_, index) => ({ order: index, name: "Mia" })) }));
    await user.click(toggle());
    expect(screen.getAllByRole("row")).toHaveLength(21);
    await user.click(screen.getByRole("button", { name: "3 more" }));
    expect(screen.getAllByRole("row")).toHaveLength(24);
  });

  test("that is long is cut with its length", async () => {
    renderStep(stepOf({ output: "x".repeat(12_431) }));
    await user.click(toggle());
    const more = screen.getByRole("button", { name: "Show all (12,431 characters)" });
    await user.click(more);
    expect(screen.getByText(/^x{12431}/)).toBeTruthy();
  });

  test("is never Markdown or HTML", async () => {
    const { container } = renderStep(stepOf({ output: "![](https://evil.test/x) <img src=x>" }));
    await user.click(toggle());
    expect(container.querySelector("img, a")).toBeNull();
  });
});

describe("a slot", () => {
  const slots = (render: (step: AnyStep) => React.ReactNode) => ({ slots: { refundOrder: render } });

  test("draws the result of its tool", () => {
    renderStep(
      stepOf(),
      undefined,
      slots((step) => <b>{step.id} drawn</b>),
    );
    expect(screen.getByText("call-1 drawn")).toBeTruthy();
  });

  test("that throws takes nothing else down", () => {
    const silent = vi.spyOn(console, "error").mockImplementation(() => {});
    renderStep(
      stepOf(),
      undefined,
      slots(() => {
        throw new Error("broken");
      }),
    );
    expect(screen.getByText("Could not draw this result.")).toBeTruthy();
    expect(toggle()).toBeTruthy();
    silent.mockRestore();
  });
});

describe("a sub-agent", () => {
  const approval = waitingOf({ id: "child-2", title: "Refund order" });
  const parent = stepOf({
    id: "parent",
    title: "Researcher",
    status: "running",
    input: { question: "Why?" },
    children: [stepOf({ id: "child-1", title: "Look up order" }), approval],
  });

  test("has its steps below it, with their own approvals, and says that it needs somebody", async () => {
    const actions = actionsOf();
    const { container } = renderStep(parent, actions);
    const list = screen.getByRole("list", { name: "Researcher" });
    expect(screen.getByRole("button", { name: /Researcher.*Needs you/ })).toBeTruthy();
    expect(screen.getByText("1 of 2 steps done")).toBeTruthy();
    const card = within(list).getByRole("group", { name: "Refund order" });
    await user.click(within(card).getByRole("button", { name: "Approve once" }));
    expect(actions.approve).toHaveBeenCalledExactlyOnceWith(approval, undefined);
    await expectAccessible(container);
  });

  test("counts what waits below its own sub-agents", () => {
    const inner = { ...parent, children: [approval, { ...parent, id: "inner" }] };
    renderStep(inner);
    expect(screen.getAllByRole("button", { name: /Researcher/ })[0]?.textContent).toContain("2 need you");
  });
});
