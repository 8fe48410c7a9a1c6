import { createToolRun, defineAgent, memoryStore, type ToolRun } from "toolrun/server";
import { guestOf } from "./guest.ts";
import { labModel } from "./lab-scenarios.ts";
import * as tools from "./lab-tools.ts";

/** Always a script: each scenario happens when it is asked for, with any model or none. */
const agent = defineAgent({ name: "lab", model: labModel(), tools });

/** The lab's agent, as types see it. */
export type LabAgent = typeof agent;

/** An endpoint of its own: what is tried here stays out of the shop. */
export function createLab(): ToolRun {
  return createToolRun({
    agent,
    store: memoryStore({ shared: true }),
    identify: guestOf,
    // Who has the address may look on; only who began it may act. The list stays everybody's own.
    authorize: ({ user, action, owner }) => action === "read" || user.id === owner,
    onError: (error, { reference }) => console.error(reference, String(error)), // tools here fail on purpose: a line each
  });
}
