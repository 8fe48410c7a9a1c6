export type {
  Script,
  ScriptEntry,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedPart,
  ScriptedTurn,
} from "./testing/scripted-model.ts";
export { call, calls, cut, delay, fail, say, scriptedModel } from "./testing/scripted-model.ts";
export type { ScriptedConversation, ScriptedResult } from "./testing/scripted-result.ts";
export type { StoreConformanceOptions, StoreUnderTest, TestFunctions } from "./testing/store-conformance.ts";
export { storeConformance } from "./testing/store-conformance.ts";
