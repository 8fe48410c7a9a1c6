/** The code under attack: everything of `src` that the attacked server is made of. A hole is planted in this file's build. */
export { agentTool } from "../../../src/agent/agent-tool.ts";
export { browserTool } from "../../../src/agent/browser-tool.ts";
export { defineAgent } from "../../../src/agent/define-agent.ts";
export { questionTool } from "../../../src/agent/question-tool.ts";
export { tool } from "../../../src/agent/tool.ts";
export { createEngine } from "../../../src/server/create-tool-run.ts";
export { handleRequest } from "../../../src/server/handle-request.ts";
export { createVerbs } from "../../../src/server/verbs.ts";
export { memoryStore } from "../../../src/store/memory-store.ts";
