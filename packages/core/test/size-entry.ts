// What the smallest app imports (API.md, section a): nothing else of the entry may come with it.
export { createToolRun, defineAgent, memoryStore, tool } from "../src/server.ts";
