import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Json } from "toolrun";
import { expect, test, vi } from "vitest";
import { type Actions, actionsOf, calmClock, renderStep, schema, waitingOf } from "./fixtures.tsx";

calmClock();
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });
const field = (name: string | RegExp): HTMLInputElement => screen.getByLabelText(name);
const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });

async function edit(input: Json, properties: Json = schema, actions: Actions = actionsOf()): Promise<Actions> {
  renderStep(waitingOf({ input }, { schema: properties }), actions);
  await user.click(button("Edit…"));
  return actions;
}
async function type(name: string | RegExp, text: string): Promise<void> {
  await user.clear(field(name));
  if (text !== "") await user.type(field(name), text);
}
const sent = (actions: Actions): unknown => actions.approve.mock.calls[0]?.[1];
const input = { orderId: "1042", amount: 49.9, keep: { me: [1] } };

test("an edited number stays a number, and the whole input is sent with keys the schema does not know", async () => {
  const actions = await edit(input);
  await type("Amount", "20");
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { orderId: "1042", amount: 20, keep: { me: [1] } } });
});

test("what is typed stays as typed, also where it is not a number yet", async () => {
  await edit(input);
  for (const text of ["1.", "-", "0.50", "1e"]) {
    await type("Amount", text);
    expect(field("Amount").value).toBe(text);
  }
});

test("the button says Approve once again when nothing differs any more, and then sends no input", async () => {
  const actions = await edit(input);
  await type("Amount", "20");
  expect(screen.getByText("was 49.9")).toBeTruthy();
  expect(screen.getByText("1 of 5 values changed")).toBeTruthy();
  await user.click(button("Reset Amount"));
  expect(document.activeElement).toBe(field("Amount"));
  await user.click(button("Approve once"));
  expect(sent(actions)).toBeUndefined();
});

test.each([
  ["12x", "Enter a number, for example 12.50."],
  ["12,50", "Enter a number, for example 12.50."],
  ["", "Enter a value."],
  ["0", "Must be more than 0."],
  ["9007199254740993", "This number is too large to be sent exactly."],
])("the amount %j is refused where it stands, and the summary has focus", async (text, message) => {
  const actions = await edit(input);
  await type("Amount", text);
  await user.click(button("Approve with changes"));
  expect(actions.approve).not.toHaveBeenCalled();
  expect(screen.getByText(message)).toBeTruthy();
  expect(field("Amount").getAttribute("aria-invalid")).toBe("true");
  expect(document.activeElement).toBe(screen.getByRole("alert"));
  await user.click(screen.getByRole("link", { name: "Amount" }));
  expect(document.activeElement).toBe(field("Amount"));
});

test("a whole number is asked for where the schema asks for one", async () => {
  await edit({ count: 3 }, { properties: { count: { type: "integer" } }, required: ["count"] });
  await type("Count", "3.5");
  await user.click(button("Approve with changes"));
  expect(screen.getByText("Enter a whole number.")).toBeTruthy();
});

test("Reset goes back to what was proposed, and focus stays in the form", async () => {
  await edit(input);
  await type("Amount", "20");
  await user.click(button("Reset"));
  expect(field("Amount").value).toBe("49.9");
  expect(document.activeElement).toBe(button("Approve once"));
});

test("an optional value that is cleared is left out, and an empty required text stays empty", async () => {
  const actions = await edit({ orderId: "1042", amount: 1, reason: "x" });
  await type(/Reason/, "");
  await type("Order", "");
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { orderId: "", amount: 1 } });
});

test("a default says what nothing typed stands for, and is never typed for the person", async () => {
  const properties = { note: { type: "string", default: "as usual" }, count: { type: "integer", default: 3 } };
  const actions = await edit({ note: "mine" }, { type: "object", properties });
  await type(/note/i, "");
  expect([field(/note/i).value, field(/note/i).placeholder]).toEqual(["", "as usual"]);
  expect([field(/count/i).value, field(/count/i).placeholder]).toEqual(["", "3"]);
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: {} });
});

test("null, booleans and choices keep their types", async () => {
  const actions = await edit(
    { note: "x", flag: false, level: "low", size: 1 },
    {
      properties: {
        note: { anyOf: [{ type: "string" }, { type: "null" }] },
        flag: { type: "boolean" },
        level: { type: "string", enum: ["low", "low", "high"] },
        size: { enum: [1, 2] },
      },
      required: ["note", "flag", "level", "size"],
    },
  );
  await type("Note", "");
  await user.click(field("Flag"));
  await user.click(field("high"));
  await user.click(field("2"));
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { note: null, flag: true, level: "high", size: 2 } });
});

test("what no simple field can hold is JSON, and broken JSON sends nothing", async () => {
  const actions = await edit(
    { target: { id: 1 } },
    { properties: { target: { anyOf: [{ type: "object" }, { type: "array" }] } }, required: ["target"] },
  );
  fireEvent.change(field("Target"), { target: { value: '{"id":' } });
  await user.click(button("Approve with changes"));
  expect(screen.getByText("This is not valid JSON.")).toBeTruthy();
  fireEvent.change(field("Target"), { target: { value: '{"id":12345678901234567890}' } });
  await user.click(button("Approve with changes"));
  expect(screen.getByText("This number is too large to be sent exactly.")).toBeTruthy();
  fireEvent.change(field("Target"), { target: { value: "[2]" } });
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { target: [2] } });
});

test.each([
  ["no schema", null],
  ["a schema that is none", "x"],
  ["a reference", { $ref: "#/x" }],
])("%s leaves the values themselves to say what they are", async (_, properties) => {
  const actions = await edit({ name: "a", count: 1, on: true, list: [1] }, properties);
  await type("Count", "2");
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { name: "a", count: 2, on: true, list: [1] } });
});

test("a long text has lines, and keeps them", async () => {
  const actions = await edit(
    { body: "a" },
    { properties: { body: { type: "string", maxLength: 500 } }, required: ["body"] },
  );
  expect(field("Body").tagName).toBe("TEXTAREA");
  fireEvent.change(field("Body"), { target: { value: "a\nb" } });
  await user.click(button("Approve with changes"));
  expect(sent(actions)).toEqual({ input: { body: "a\nb" } });
});

test("only what may be edited can be", async () => {
  renderStep(waitingOf({}, { editable: ["amount"] }));
  await user.click(button("Edit…"));
  expect(field("Order").disabled).toBe(true);
  expect(document.activeElement).toBe(field("Amount"));
});

test("what the server finds wrong is shown at its field", async () => {
  const issues = [
    { path: ["amount"], message: "At most 49.90." },
    { path: [], message: "Too late." },
  ];
  await edit(input, schema, actionsOf({ ok: false, code: "invalid-input", message: "It does not fit.", issues }));
  await type("Amount", "60");
  await user.click(button("Approve with changes"));
  expect(await screen.findByText("At most 49.90.")).toBeTruthy();
  expect(screen.getByRole("alert").textContent).toContain("Not sent. It does not fit. Too late.");
  expect(field("Amount").value).toBe("60");
});

test("the draft survives Back and a remount, and is gone once it was sent", async () => {
  const step = waitingOf();
  const { unmount } = renderStep(step);
  await user.click(button("Edit…"));
  await type("Amount", "20");
  await user.click(button("Back"));
  await user.click(button("Edit…"));
  expect(field("Amount").value).toBe("20");
  unmount();
  renderStep(step);
  await user.click(button("Edit…"));
  expect(field("Amount").value).toBe("20");
  await user.click(button("Approve with changes"));
  await waitFor(() => expect(sessionStorage.length).toBe(0));
});

test("Ctrl+Enter sends the form", async () => {
  const actions = await edit(input);
  await type("Amount", "20");
  fireEvent.keyDown(field("Amount"), { key: "Enter", ctrlKey: true });
  await vi.waitFor(() => expect(actions.approve).toHaveBeenCalledTimes(1));
});
