"use client";

import type { TextToDraw } from "@toolrun/react/ui";
import { lazy, type ReactNode } from "react";

const Markdown = lazy(async () => ({ default: (await import("@toolrun/react/markdown")).Markdown }));

/** What the model writes, as Markdown; plain until that has loaded. */
export function drawText(part: TextToDraw): ReactNode {
  return <Markdown {...part} />;
}
