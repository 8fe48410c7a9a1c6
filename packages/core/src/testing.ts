export type { FaultyStore, FaultyStoreOptions, StoreFaultName, StoreFaults } from "./testing/faulty-store.ts";
export { faultyStore } from "./testing/faulty-store.ts";
export type { HandlerConformanceOptions, MountedHandler } from "./testing/handler-conformance.ts";
export { handlerConformance } from "./testing/handler-conformance.ts";
export type { HandlerUnderTestOptions } from "./testing/handler-under-test.ts";
export { handlerUnderTest } from "./testing/handler-under-test.ts";
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
