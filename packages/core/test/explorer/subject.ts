/**
 * The code under test: everything of `src` that the explorer calls. A mutant is this file bundled with one text
 * of `src` replaced, so that real code and mutants are driven in the same way.
 */
export { agentTool } from "../../src/agent/agent-tool.ts";
export { ask } from "../../src/agent/ask.ts";
export { defineAgent } from "../../src/agent/define-agent.ts";
export { questionTool } from "../../src/agent/question-tool.ts";
export { tool } from "../../src/agent/tool.ts";
export { isAtRest } from "../../src/loop/next-action.ts";
export { openFor } from "../../src/server/access.ts";
export { createEngine } from "../../src/server/create-tool-run.ts";
export { decide } from "../../src/server/decide.ts";
export { revokeGrant, stopRun } from "../../src/server/threads.ts";
export { createVerbs, post } from "../../src/server/verbs.ts";
export { takeOver } from "../../src/server/write.ts";
export { newThreadId, writerOf } from "../../src/server/writer.ts";
export { memoryStore } from "../../src/store/memory-store.ts";
