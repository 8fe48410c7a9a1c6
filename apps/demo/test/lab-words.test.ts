// @vitest-environment jsdom
import { pseudo } from "@toolrun/react/strings/pseudo";
import { ToolRunChat } from "@toolrun/react/ui";
import { act, createElement } from "react";
import { createRoot, type Root } from "react-dom/client";
import type { TypedAgent } from "toolrun";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LabRun } from "../app/lab/run-of.ts";
import { states } from "../app/lab/states.ts";

let root: Root;
let page: HTMLElement;

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  page = document.body.appendChild(document.createElement("div"));
  root = createRoot(page);
});

afterEach(() => {
  act(() => root.unmount());
  page.remove();
});

/** Every text of a page: what is read, and what is only spoken. */
function textsOf(element: Element): readonly string[] {
  const texts: string[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) texts.push(node.textContent ?? "");
  for (const each of element.querySelectorAll("*")) {
    for (const name of ["aria-label", "aria-description", "title", "alt", "placeholder"]) {
      texts.push(each.getAttribute(name) ?? "");
    }
  }
  return texts;
}

const letters = (text: string): string => text.toLowerCase().replace(/[^\p{L}]/gu, "");

/** All scalars and names of a value. */
function stringsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, each]) => `${name} ${stringsOf(each)}`)
    .join(" ");
}

/** Texts that are neither in the pseudo-locale's brackets nor part of what the run holds. */
function strays(element: Element, run: LabRun): readonly string[] {
  const data = letters(stringsOf(run));
  return textsOf(element).filter((text) => {
    const rest = text.replace(/⟦.*⟧/gs, "").replace(/\bU\+[\dA-F]{4,6}\b|\bF8\b/g, "");
    return !rest.split(/[,:]/).every((words) => data.includes(letters(words)));
  });
}

async function show(run: LabRun): Promise<void> {
  await act(async () => root.render(createElement(ToolRunChat<TypedAgent>, { run, strings: pseudo })));
}

/** Opens what is folded away, and each form that a button leads to. */
async function openMore(): Promise<void> {
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const closed = [...page.querySelectorAll<HTMLElement>("[aria-expanded='false']")];
  for (const button of closed) await act(async () => button.click());
}

/** The buttons of the first card that asks, by their place. */
const choices = (): readonly HTMLElement[] => [...page.querySelectorAll<HTMLElement>(".tr-ask .tr-actions > button")];

const names = Object.keys(states);

test("there are states to look at", () => {
  expect(names.length).toBeGreaterThan(50);
});

test.each(names)("%s has no word that a language could not change", async (name) => {
  const run = states[name]?.();
  if (!run) throw new Error(`No state ${name}.`);
  await show(run);
  await openMore();
  expect(strays(page, run)).toEqual([]);
  expect(page.textContent).toContain("⟦");
  for (let index = 0; index < choices().length; index++) {
    await act(async () => choices()[index]?.click());
    expect(strays(page, run)).toEqual([]);
    await act(async () => root.render(null));
    await show(run);
  }
});

test("a word that is written into a component is found", async () => {
  const run = states.approval?.();
  if (!run) throw new Error("No state.");
  await show(run);
  page.querySelector(".tr-actions")?.append("Approve this");
  page.querySelector(".tr-actions")?.setAttribute("aria-label", "Choices");
  expect(strays(page, run)).toEqual(["Approve this", "Choices"]);
});
