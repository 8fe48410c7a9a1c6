import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import type { ActionResult, Grant, TypedAgent } from "toolrun";
import { describe, expect, test, vi } from "vitest";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import { GrantsList } from "../../src/chat/grants-list.tsx";
import { ToolRunChat, type ToolRunChatProps } from "../../src/chat/tool-run-chat.tsx";
import { at, calmClock, expectAccessible, messageOf, runOf, saidOf, settle, stepOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });

function grantOf(given: Partial<Grant> = {}): Grant {
  return {
    ...{ grantId: "g-1", seq: 5, verdict: "allow", path: [], tool: "refundOrder" },
    ...{ input: { orderId: "1042", amount: 5 }, used: 0, scope: "run", by: { id: "dana", name: "Dana" }, at },
    ...given,
  };
}
const mails = grantOf({ grantId: "g-2", label: "Mails to Mia", uses: 5, used: 2, scope: "thread" });
const messages = [saidOf("Hello"), messageOf(stepOf({ grantId: "g-1" }))];
const runWith = (grants: readonly Grant[], given: Partial<ChatRun> = {}): ChatRun =>
  runOf(messages, { grants, ...given });
const lines = (): readonly (string | null)[] => screen.queryAllByRole("listitem").map((each) => each.textContent);

function Chat({ run }: { readonly run: ChatRun }): ReactNode {
  return <ToolRunChat<TypedAgent> run={run as unknown as NonNullable<ToolRunChatProps<TypedAgent>["run"]>} />; // rename and the like are not used
}
const show = (run: ChatRun) => {
  const view = render(<Chat run={run} />);
  act(() => settle());
  return { ...view, next: (next: ChatRun) => view.rerender(<Chat run={next} />) };
};
const summary = (): HTMLElement | null => document.querySelector(".tr-grants > summary");

describe("the list of what is remembered", () => {
  test("says of each what it covers, for what, how often it was used, until when and by whom", () => {
    const until = grantOf({ grantId: "g-3", label: "All of Mia", expiresAt: at + 3_600_000 });
    render(<GrantsList run={runWith([grantOf(), mails, until])} />);
    const [exact, labelled, timed] = lines();
    expect(exact).toMatch(
      /Allowed Refund order ?for this run · used 0 times · by Dana, \d\d:\d\d.*exactly these arguments/,
    );
    expect(exact).toContain("1042");
    expect(labelled).toMatch(/Allowed Mails to Mia ?for this conversation · used 2 of 5 times · by Dana/);
    expect(labelled).not.toContain("1042"); // it is about more than this input
    expect(timed).toMatch(/· until \d\d:\d\d ·/);
  });

  test("says of a denial that it is one, and why", () => {
    render(<GrantsList run={runWith([grantOf({ verdict: "deny", reason: "never 5" })])} />);
    expect(lines()[0]).toMatch(/Denied Refund order.*never 5/);
  });

  test("leaves out what is used up or over, also as time goes by", () => {
    const used = grantOf({ uses: 1, used: 1 });
    const soon = grantOf({ grantId: "g-3", expiresAt: at + 5_000 });
    render(<GrantsList run={runWith([used, soon])} />);
    expect(lines()).toHaveLength(1);
    act(() => settle(6_000));
    expect(screen.getByText("Nothing is remembered.")).toBeTruthy();
  });

  test("revokes by the grant's id, once, and says what was refused", async () => {
    let answer: (result: ActionResult) => void = () => {};
    const revoke = vi.fn(() => new Promise<ActionResult>((resolve) => (answer = resolve)));
    render(<GrantsList run={runWith([mails], { revoke })} />);
    await user.click(screen.getByRole("button", { name: "Revoke: Mails to Mia" }));
    await user.click(screen.getByRole("button", { name: "Sending…" }));
    expect(revoke).toHaveBeenCalledExactlyOnceWith("g-2");
    await act(async () => answer({ ok: false, code: "network", message: "No network." }));
    expect(screen.getByRole("alert").textContent).toBe("Not sent. No network.");
    expect(screen.getByRole("button", { name: "Revoke: Mails to Mia" })).toBe(document.activeElement);
  });

  test("has nothing to press for somebody who may only read", () => {
    render(<GrantsList run={runWith([mails], { access: { send: false, decide: false, remove: false } })} />);
    expect(lines()).toHaveLength(1);
    expect(screen.queryAllByRole("button")).toEqual([]);
  });

  test("keeps focus when the line that had it goes", async () => {
    const view = render(<GrantsList run={runWith([grantOf(), mails])} />);
    act(() => screen.getByRole("button", { name: "Revoke: Mails to Mia" }).focus());
    view.rerender(<GrantsList run={runWith([grantOf()])} />);
    await waitFor(() =>
      expect(document.activeElement).toBe(screen.getByRole("group", { name: "1 remembered decision" })),
    );
    view.rerender(<GrantsList run={runWith([])} />);
    expect(document.activeElement).toBe(screen.getByRole("group"));
  });
});

describe("in the chat", () => {
  test("one line says that something is remembered, and nothing does while nothing is", () => {
    const view = show(runWith([]));
    expect(summary()).toBeNull();
    view.next(runWith([grantOf(), mails]));
    expect(summary()?.textContent).toBe("2 remembered decisions");
  });

  test("a step that ran by it opens the list at it", async () => {
    show(runWith([mails, grantOf()]));
    await user.click(screen.getByRole("button", { name: "Show it" }));
    expect(summary()?.parentElement).toHaveProperty("open", true);
    expect(document.activeElement?.getAttribute("data-grant")).toBe("g-1");
  });

  test("focus is not lost when the last one is taken back", async () => {
    const view = show(runWith([mails]));
    if (summary()?.parentElement instanceof HTMLDetailsElement) summary()?.parentElement?.setAttribute("open", "");
    act(() => screen.getByRole("button", { name: "Revoke: Mails to Mia" }).focus());
    view.next(runWith([]));
    await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("textbox", { name: "Message" })));
  });

  test("a list that is open has no accessibility violations", async () => {
    const { container } = show(runWith([grantOf(), mails, grantOf({ grantId: "g-3", verdict: "deny", reason: "no" })]));
    await user.click(screen.getByRole("button", { name: "Show it" }));
    expect(within(container).getAllByRole("button", { name: /^Revoke/ })).toHaveLength(3);
    await expectAccessible(container);
  });
});
