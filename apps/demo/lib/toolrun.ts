import { createToolRun, defineAgent, type ToolRun } from "toolrun/server";
import { guestOf } from "./guest.ts";
import { demoModel } from "./model.ts";
import { threadStore } from "./thread-store.ts";
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

/** One endpoint, on edge or on Node: both see the same conversations. */
export function createShopAssistant(): ToolRun {
  return createToolRun({
    agent: () => (agent ??= shopAgent()), // at the first message: a missing model is an answer that names the fix
    store: threadStore(), // or redisStore(…), postgresStore(…): lib/thread-store.ts
    identify: guestOf,
    leaseMs: 10_000, // so long after a server died in the middle of a run, another one goes on with it
  });
}
