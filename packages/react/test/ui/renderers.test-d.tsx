import type { ReactNode } from "react";
import { ToolRunChat } from "../../src/ui.ts";

/** Without a registered agent a renderer gets a step of any tool. */
export const chat: ReactNode = (
  <ToolRunChat
    steps={{ refundOrder: (step) => (step.status === "succeeded" ? <b>{JSON.stringify(step.output)}</b> : null) }}
  />
);
