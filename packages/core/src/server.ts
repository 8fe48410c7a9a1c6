export type { Agent, DynamicTools, DynamicToolsContext, Tool } from "./agent/agent.ts";
export type { AgentToolOptions } from "./agent/agent-tool.ts";
export { agentTool } from "./agent/agent-tool.ts";
export type { ToolAnnotations } from "./agent/annotations.ts";
export type { AskPerson } from "./agent/ask.ts";
export { ask } from "./agent/ask.ts";
export type { BrowserTool, BrowserToolOptions } from "./agent/browser-tool.ts";
export { browserTool } from "./agent/browser-tool.ts";
export type { AgentOptions } from "./agent/define-agent.ts";
export { defineAgent } from "./agent/define-agent.ts";
export type { ExplainedCall, PolicyExplanation } from "./agent/explain-policy.ts";
export { explainPolicy } from "./agent/explain-policy.ts";
export type { Gate, GateContext } from "./agent/gate.ts";
export type { HookCall, HookContext, Hooks } from "./agent/hooks.ts";
export type { Policy, PolicyCall, PolicyContext } from "./agent/policy.ts";
export type { PrepareTurn, TurnChanges, TurnContext } from "./agent/prepare-turn.ts";
export type { QuestionToolOptions } from "./agent/question-tool.ts";
export { questionTool } from "./agent/question-tool.ts";
export type { Limits } from "./agent/rules.ts";
export type { StopContext, StopWhen } from "./agent/stop-when.ts";
export {
  afterTool,
  allOf,
  callsAbove,
  contentMatches,
  firstOf,
  tokensAbove,
  toolCalled,
} from "./agent/stop-when.ts";
export type { RetryOptions, ToolOptions } from "./agent/tool.ts";
export { DefiniteFailure, tool } from "./agent/tool.ts";
export type { ToolContext } from "./agent/tool-context.ts";
export { UnknownEffect } from "./agent/unknown-effect.ts";
export type { AskOptions, GrantOptions, Verdict } from "./agent/verdict.ts";
export type { ToolRunErrorCode } from "./errors.ts";
export { isToolRunError, ToolRunError } from "./errors.ts";
export type { CallRecord, TurnRecord } from "./loop/call-record.ts";
export type { Clock } from "./loop/clock.ts";
export type { Observer } from "./loop/observe.ts";
export { observe } from "./loop/observe.ts";
export type { ActionRecord, Metric, Observers, StepRecord } from "./loop/observers.ts";
export type { RunAgentOptions } from "./loop/run-agent.ts";
export { runAgent } from "./loop/run-agent.ts";
export type { RunResult, RunStatus, StopReason } from "./loop/run-result.ts";
export type { RunInput, RunOptions } from "./loop/run-session.ts";
export type { StepChannel } from "./loop/step-channel.ts";
export { stepChannel } from "./loop/step-channel.ts";
export type { MonitorSnapshot, StepMonitor, ToolFigures } from "./loop/step-monitor.ts";
export { stepMonitor } from "./loop/step-monitor.ts";
export type { Completed, Failed, StepThrough, Waiting, Yielded } from "./loop/step-through.ts";
export { stepThrough } from "./loop/step-through.ts";
export type { Model, ModelMessage, ModelPart, ModelRequest, ToolChoice, ToolSpec } from "./model/model.ts";
export { ModelError } from "./model/model.ts";
export type { HistoryOptions } from "./model/shape-history.ts";
export type { ResultInfo, ResultOptions } from "./model/shape-result.ts";
export { withoutInvisible } from "./model/without-invisible.ts";
export type { EventType, ThreadEvent } from "./protocol/event.ts";
export type { User } from "./protocol/typed.ts";
export type { Json } from "./protocol/values.ts";
export type { ToolRun, ToolRunOptions } from "./server/create-tool-run.ts";
export { createToolRun } from "./server/create-tool-run.ts";
export type { AccessAction, AccessRequest } from "./server/engine.ts";
export type { ReadThread, Settling } from "./server/verbs.ts";
export type { MemoryStoreOptions } from "./store/memory-store.ts";
export { memoryStore } from "./store/memory-store.ts";
export type {
  Append,
  AppendPosition,
  AppendResult,
  FollowChange,
  LeaseResult,
  StoredEvent,
  StoredSnapshot,
  ThreadFilter,
  ThreadPage,
  ThreadRead,
  ThreadRow,
  ThreadStore,
} from "./store/thread-store.ts";
