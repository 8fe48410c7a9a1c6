import { act, render, screen } from "@testing-library/react";
import { lazy, type ReactNode } from "react";
import type { TypedAgent } from "toolrun";
import { expect, test, vi } from "vitest";
import type { ChatRun } from "../../src/chat/chat-run.ts";
import type { RenderText } from "../../src/chat/model-text.tsx";
import { ToolRunChat, type ToolRunChatProps } from "../../src/chat/tool-run-chat.tsx";
import { Markdown } from "../../src/markdown.ts";
import { de } from "../../src/strings/de.ts";
import { calmClock, messageOf, runOf, saidOf, stepOf } from "./fixtures.tsx";

calmClock();
type Props = ToolRunChatProps<TypedAgent>;

function Chat({ run, ...props }: { readonly run: ChatRun } & Omit<Props, "run">): ReactNode {
  return <ToolRunChat<TypedAgent> {...props} run={run as unknown as NonNullable<Props["run"]>} />; // rename and the like are not used
}
const markdown: RenderText = (part) => <Markdown {...part} />;

test("what the model writes is drawn by the app; what a person writes is not", () => {
  const run = runOf([saidOf("I **said**"), messageOf({ type: "reasoning", text: "I **think**" }, "I **answer**")]);
  const { container } = render(<Chat run={run} renderText={markdown} />);
  expect([...container.querySelectorAll("strong")].map((word) => word.textContent)).toEqual(["think", "answer"]);
  expect(container.textContent).toContain("I **said**");
});

test("only the last text of a run that writes is streaming", () => {
  const renderText = vi.fn<RenderText>(() => null);
  const messages = [messageOf("First", stepOf(), "Second")];
  const calls = (): unknown[] => renderText.mock.calls.map(([{ text, streaming }]) => `${text} ${streaming}`);
  const view = render(<Chat run={runOf(messages, { status: "running", phase: "writing" })} renderText={renderText} />);
  expect(calls()).toEqual(["First false", "Second true"]);
  renderText.mockClear();
  view.rerender(<Chat run={runOf(messages)} renderText={renderText} />);
  expect(calls().slice(-2)).toEqual(["First false", "Second false"]);
});

test("null, a mistake, and what has not loaded yet leave the text plain", async () => {
  const hush = vi.spyOn(console, "error").mockImplementation(() => {});
  const run = runOf([messageOf("Plain **text**")]);
  for (const renderText of [
    () => null,
    (): ReactNode => {
      throw new Error("no");
    },
  ]) {
    const { unmount } = render(<Chat run={run} renderText={renderText} />);
    expect(screen.getByText("Plain **text**")).toBeTruthy();
    unmount();
  }
  hush.mockRestore();

  let arrive = (): void => {};
  const loaded = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const Later = lazy(async () => {
    await loaded;
    return { default: Markdown };
  });
  const { container } = render(<Chat run={run} renderText={(part) => <Later {...part} />} />);
  expect(screen.getByText("Plain **text**")).toBeTruthy();
  await act(async () => arrive());
  expect(container.querySelector("strong")?.textContent).toBe("text");
});

test("the words of the chat are those of the Markdown in it", () => {
  render(<Chat run={runOf([messageOf("```\na\n```")])} renderText={markdown} strings={de} />);
  expect(screen.getByRole("button", { name: "Kopieren" })).toBeTruthy();
});
