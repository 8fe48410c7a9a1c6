import { createToolRun, defineAgent, memoryStore, type ToolRun } from "toolrun/server";
import { guestOf } from "./guest.ts";
import { demoModel } from "./model.ts";
import * as tools from "./tools.ts";

function shopAgent() {
  return defineAgent({
    model: demoModel().model,
    instructions:
      "You are the assistant of a small shop's back office. Look things up before you act. Say plainly what you did, and what was refused or changed.",
    tools,
  });
}

let agent: ReturnType<typeof shopAgent> | undefined;

declare module "toolrun" {
  interface Register {
    agent: ReturnType<typeof shopAgent>;
  }
}

/** One endpoint over this isolate's memory; lib/http-store.ts of a real app would name Redis or Postgres here. */
export function createShopAssistant(): ToolRun {
  return createToolRun({
    agent: () => (agent ??= shopAgent()), // at the first message: a missing model is an answer that names the fix
    store: memoryStore({ shared: true }), // threads live as long as this process
    identify: guestOf,
  });
}
