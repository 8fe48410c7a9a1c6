/**
 * The code under test: everything of `src` that a random run calls. A mutant is this file bundled with one text of
 * `src` replaced, so that real code and mutants are run in the same way.
 */
export { agentTool } from "../../../src/agent/agent-tool.ts";
export { ask } from "../../../src/agent/ask.ts";
export { browserTool } from "../../../src/agent/browser-tool.ts";
export { defineAgent } from "../../../src/agent/define-agent.ts";
export { questionTool } from "../../../src/agent/question-tool.ts";
export { schemaFromJson } from "../../../src/agent/schema.ts";
export { DefiniteFailure, tool } from "../../../src/agent/tool.ts";
export { ModelError } from "../../../src/model/model.ts";
export { createEngine } from "../../../src/server/create-tool-run.ts";
export { createVerbs } from "../../../src/server/verbs.ts";
export { takeOver } from "../../../src/server/write.ts";
export { memoryStore } from "../../../src/store/memory-store.ts";
