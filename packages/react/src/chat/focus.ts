/** Headings of the steps that wait for a person, in order. Focus lands there, never straight on an Approve button. */
export function headingsIn(root: ParentNode | null): readonly HTMLElement[] {
  return root ? [...root.querySelectorAll<HTMLElement>("[data-step-heading]")] : [];
}

/** The next heading after the one that holds focus, around the end; `back` for the one before. */
export function nextHeading(root: ParentNode | null, back: boolean): HTMLElement | undefined {
  const headings = headingsIn(root);
  const active = document.activeElement;
  const index = headings.findIndex((heading) => heading.closest("[data-step]")?.contains(active));
  if (index < 0) return back ? headings.at(-1) : headings[0];
  return headings.at((index + (back ? -1 : 1)) % headings.length);
}

/** Where focus goes when a step was decided: the next one that waits, else nowhere in the transcript. */
export function headingAfter(root: ParentNode | null, stepId: string): HTMLElement | undefined {
  const headings = headingsIn(root);
  const index = headings.findIndex((heading) => heading.dataset.stepHeading === stepId);
  const others = [...headings.slice(index + 1), ...headings.slice(0, Math.max(index, 0))];
  return others.find((heading) => heading.dataset.stepHeading !== stepId);
}

/** A mouse, so presumably a keyboard: focus in a text field opens no keyboard on the screen. */
export function hasFinePointer(): boolean {
  return typeof matchMedia === "undefined" || !matchMedia("(pointer: coarse)").matches;
}
