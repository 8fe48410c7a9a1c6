import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ActionResult, AnyStep, Json } from "toolrun";
import { describe, expect, test, vi } from "vitest";
import { actionsOf, at, calmClock, expectAccessible, renderStep, stepOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const button = (name: string): HTMLElement => screen.getByRole("button", { name });
const field = (name: string | RegExp): HTMLInputElement => screen.getByLabelText(name);

function asking(given: Partial<NonNullable<AnyStep["ask"]>>, step: Partial<AnyStep> = {}): AnyStep {
  const ask = { kind: "question", digest: "digest-1", askedAt: at, ...given } as const;
  return stepOf({ status: "waiting", attempt: 0, input: {}, ask, ...step });
}
const questionOf = (schema: Json): AnyStep => asking({ prompt: "Which account?", schema });
const refusing = (...issues: readonly { path: (string | number)[]; message: string }[]): ActionResult => ({
  ok: false,
  code: "invalid-input",
  message: "This does not fit.",
  issues,
});

describe("a question", () => {
  test("with few choices has a button for each, and one press answers once", async () => {
    const actions = actionsOf();
    const step = questionOf({ anyOf: [{ const: "card", title: "Credit card" }, { const: "bank" }, { const: null }] });
    const { container } = renderStep(step, actions);
    expect(screen.getByRole("group", { name: "Which account?" })).toBeTruthy();
    await user.dblClick(button("Credit card"));
    expect(actions.answer).toHaveBeenCalledExactlyOnceWith(step, { value: "card" });
    await expectAccessible(container);
  });

  test("[M07] for yes or no is answered by false, not by nothing", async () => {
    const actions = actionsOf();
    renderStep(questionOf({ type: "boolean" }), actions);
    await user.click(button("No"));
    expect(actions.answer.mock.calls[0]?.[1]).toEqual({ value: false });
  });

  test("with many choices is a list to choose from", async () => {
    const actions = actionsOf();
    renderStep(questionOf({ enum: ["a", "b", "c", "d", "e", "f", "g"] }), actions);
    await user.selectOptions(field("Your answer"), "e");
    await user.click(button("Send answer"));
    expect(actions.answer.mock.calls[0]?.[1]).toEqual({ value: "e" });
  });

  test.each<[string, Json, string, Json]>([
    ["a number", { type: "number" }, "4.5", 4.5],
    ["[M07] zero", { type: "integer" }, "0", 0],
    ["a text", { type: "string" }, "Mia", "Mia"],
    ["some texts", { type: "array", items: { type: "string" } }, "a{Enter}{Enter}b", ["a", "b"]],
    ["some numbers", { type: "array", items: { type: "number" } }, "1{Enter}2.5", [1, 2.5]],
    ["[M07] an empty list", { type: "array", items: { type: "string" } }, "", []],
    ["anything", {}, '{{"a": 1}', { a: 1 }],
  ])("for %s is answered as it was typed", async (_, schema, typed, value) => {
    const actions = actionsOf();
    renderStep(questionOf(schema), actions);
    if (typed !== "") await user.type(field("Your answer"), typed);
    await user.click(button("Send answer"));
    expect(actions.answer.mock.calls[0]?.[1]).toEqual({ value });
  });

  test.each<[Json, string, string]>([
    [{ type: "string" }, "", "Enter a value."],
    [{ type: "number" }, "", "Enter a value."],
    [{ type: "array", items: { type: "integer" } }, "1{Enter}x", "Enter a whole number."],
    [{ type: "string", format: "email" }, "mia@", "Enter a full email address, for example name@example.com."],
  ])("of %j is not answered by %j", async (schema, typed, message) => {
    const actions = actionsOf();
    renderStep(questionOf(schema), actions);
    if (typed !== "") await user.type(field("Your answer"), typed);
    await user.click(button("Send answer"));
    expect(actions.answer).not.toHaveBeenCalled();
    expect(screen.getByText(message)).toBeTruthy();
  });

  test("for some of a few is answered with those, in the order of the schema", async () => {
    const actions = actionsOf();
    const items = { enum: ["red", "green", "blue"] };
    const { container } = renderStep(questionOf({ type: "array", items }), actions);
    for (const color of ["blue", "green", "red", "green"]) await user.click(field(color));
    await user.click(button("Send answer"));
    expect(actions.answer.mock.calls[0]?.[1]).toEqual({ value: ["red", "blue"] });
    await expectAccessible(container);
  });

  test("for an object has a field for each value, and for those of an object in it", async () => {
    const actions = actionsOf();
    const address = {
      type: "object",
      properties: { city: { type: "string" }, zip: { type: "integer" }, note: { type: "string" } },
      required: ["city", "zip"],
    };
    const schema = {
      type: "object",
      properties: { name: { type: "string" }, gift: { type: "boolean" }, address, other: address },
      required: ["name", "gift", "address"],
    };
    const { container } = renderStep(questionOf(schema), actions);
    await user.type(field("Name"), "Mia");
    expect(screen.queryByRole("button", { name: /Reset/ })).toBeNull(); // nobody proposed anything
    await user.type(field("Address: City"), "Kiel");
    await user.type(field("Address: Zip"), "24103");
    await user.click(button("Send answer"));
    expect(actions.answer.mock.calls[0]?.[1]).toEqual({
      value: { name: "Mia", gift: false, address: { city: "Kiel", zip: 24103 } },
    });
    await expectAccessible(container);
  });

  test("whose answer the server does not take says so at the field", async () => {
    const actions = actionsOf(refusing({ path: [], message: "No such account." }));
    renderStep(questionOf({ type: "string" }), actions);
    await user.type(field("Your answer"), "x");
    await user.click(button("Send answer"));
    expect(field("Your answer").getAttribute("aria-invalid")).toBe("true");
    expect(field("Your answer").value).toBe("x");
    expect(screen.getByText("No such account.")).toBeTruthy();
    expect(screen.getByRole("alert").textContent).toContain("This does not fit.");
    expect(document.activeElement).toBe(screen.getByRole("alert"));
  });

  test("that is answered takes focus with it when its card goes, and not before", async () => {
    const onDecided = vi.fn();
    const onFocusLost = vi.fn();
    const step = questionOf({ type: "string" });
    const view = renderStep(step, actionsOf(), { onDecided, onFocusLost });
    await user.type(field("Your answer"), "Mia{Enter}");
    expect(onDecided).not.toHaveBeenCalled();
    view.show(stepOf({ id: step.id }));
    await vi.waitFor(() => expect(onFocusLost).toHaveBeenCalledOnce());
  });

  test("whose object the server does not take says so at the fields, and in words where there is none", async () => {
    const issues = [
      { path: ["address", "zip"], message: "Too long." },
      { path: ["tags", 0], message: "Unknown." },
      { path: [], message: "Not today." },
    ];
    const address = { type: "object", properties: { zip: { type: "string" } }, required: ["zip"] };
    const tags = { type: "array", items: { type: "string" } };
    const schema = { type: "object", properties: { address, tags }, required: ["address", "tags"] };
    renderStep(questionOf(schema), actionsOf(refusing(...issues)));
    await user.type(field("Address: Zip"), "1");
    await user.click(button("Send answer"));
    expect(screen.getByText("Too long.")).toBeTruthy();
    expect(screen.getByText("0: Unknown.")).toBeTruthy();
    expect(screen.getByRole("alert").textContent).toContain("Not today.");
    await user.click(screen.getByRole("link", { name: "Address: Zip" }));
    expect(document.activeElement).toBe(field("Address: Zip"));
  });

  test("of the same step again begins afresh", async () => {
    const view = renderStep(questionOf({ type: "string" }), actionsOf(refusing()));
    await user.type(field("Your answer"), "Mia");
    await user.click(button("Send answer"));
    view.show(asking({ prompt: "And her city?", schema: { type: "string" }, askedAt: at + 1 }));
    expect(screen.getByRole("heading", { name: "And her city?" })).toBeTruthy();
    expect(field("Your answer").value).toBe("");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test("may be skipped, says until when it waits, and shows hidden characters", async () => {
    const actions = actionsOf();
    const step = asking({ prompt: "Pay\u202ehim?", schema: {}, expiresAt: at + 9 * 60_000 });
    renderStep(step, actions);
    expect(screen.getByRole("heading").textContent).toBe("PayU+202Ehim?");
    expect(screen.getByText(/expires in 9 min/)).toBeTruthy();
    await user.click(button("Skip"));
    expect(actions.skip).toHaveBeenCalledExactlyOnceWith(step);
  });
});

describe("a link", () => {
  const linkOf = (url: string): AnyStep => asking({ kind: "link", prompt: "Connect your bank.", url });

  test("opens in a tab of its own that knows nothing of this one; then it is done", async () => {
    const actions = actionsOf();
    const step = linkOf("https://user@bank.example/connect?a=b");
    const { container } = renderStep(step, actions);
    const link = screen.getByRole("link", { name: "Open bank.example (opens in a new tab)" });
    expect([link.getAttribute("target"), link.getAttribute("rel")]).toEqual(["_blank", "noopener noreferrer nofollow"]);
    expect(screen.getByText("https://user@bank.example/connect?a=b")).toBeTruthy();
    expect(button("I have done this").className).not.toContain("tr-primary");
    link.addEventListener("click", (event) => event.preventDefault()); // jsdom cannot leave
    await user.click(link);
    expect(button("I have done this").className).toContain("tr-primary");
    await user.click(button("I have done this"));
    expect(actions.answer).toHaveBeenCalledExactlyOnceWith(step, { value: null });
    await expectAccessible(container);
  });

  test.each([
    ["https://bank.example/connect", true],
    ["HTTP://bank.example", true],
    ["/bank/connect", true],
    ["javascript:alert(1)", false],
    ["data:text/html,x", false],
    ["//evil.test", false],
    ["/\\evil.test", false],
    ["/\t/evil.test", false],
    ["https://", false],
    ["bank", false],
  ])("%j is a link: %s", (url, isLink) => {
    renderStep(linkOf(url));
    expect(screen.queryByRole("link") !== null).toBe(isLink);
    expect(screen.queryByText(/not made clickable/) === null).toBe(isLink);
    expect(button("Skip")).toBeTruthy();
  });
});

describe("a browser tool", () => {
  const step = asking({ kind: "browser" }, { title: "Where you are", input: { precise: true } });

  test.each([
    ["here", /This browser is doing it now/],
    ["elsewhere", /Another tab of this browser is doing it/],
    [undefined, /This page cannot do it/],
  ] as const)("that is done %s says so, with what it was asked, and can be skipped", async (where, words) => {
    const actions = actionsOf();
    const { container } = renderStep(step, actions, { browserSteps: where ? { [step.id]: where } : {} });
    expect(screen.getByRole("status").textContent).toMatch(words);
    expect(screen.getByRole("group", { name: "Where you are" }).textContent).toMatch(/Precise.*true/s);
    await user.click(button("Skip"));
    expect(actions.skip).toHaveBeenCalledExactlyOnceWith(step);
    await expectAccessible(container);
  });
});

test("an interrupted step can be run again or skipped", async () => {
  const actions = actionsOf();
  const step = asking({ kind: "interrupted" });
  const { container } = renderStep(step, actions);
  expect(screen.getByText(/may have had its effect/)).toBeTruthy();
  await user.click(button("Run again"));
  expect(actions.retry).toHaveBeenCalledExactlyOnceWith(step);
  await expectAccessible(container);
});

test.each(["question", "link", "browser", "interrupted"] as const)("who may only read sees no button: %s", (kind) => {
  renderStep(asking({ kind, url: "/connect", schema: { type: "boolean" } }), undefined, { actions: null });
  const card = screen.getByRole("group");
  expect(within(card).queryAllByRole("button")).toEqual([]);
  expect(within(card).getByText("Waiting for someone who may decide.")).toBeTruthy();
});
