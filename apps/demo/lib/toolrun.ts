import { createToolRun, defineAgent, memoryStore, type ToolRun } from "toolrun/server";
import { guestOf } from "./guest.ts";
import { demoModel } from "./model.ts";
import * as tools from "./tools.ts";

export const agent = defineAgent({
  model: demoModel().model,
  instructions:
    "You are the assistant of a small shop's back office. Look things up before you act. Say plainly what you did, and what was refused or changed.",
  tools,
});

declare module "toolrun" {
  interface Register {
    agent: typeof agent;
  }
}

/** One endpoint over this isolate's memory; lib/http-store.ts of a real app would name Redis or Postgres here. */
export function createShopAssistant(): ToolRun {
  return createToolRun({
    agent,
    store: memoryStore({ shared: true }), // threads live as long as this process
    identify: guestOf,
  });
}
