export type { BrowserClaim, BrowserFunction, BrowserToolContext, BrowserTools } from "./client/browser-tools.ts";
export type { Connection, ConnectionStatus } from "./client/connection-state.ts";
export type { StepRef } from "./client/decide.ts";
export type { OutgoingMessage } from "./client/outbox.ts";
export type { ActionResult, Refusal, RequestHeaders, WireOptions } from "./client/post.ts";
export type { Access, ThreadBody, ThreadSnapshot } from "./client/snapshot.ts";
export type {
  Answer,
  ApproveOptions,
  DenyOptions,
  SendOptions,
  ThreadActions,
  ThreadClient,
  ThreadClientOptions,
} from "./client/thread-client.ts";
export { createThreadClient } from "./client/thread-client.ts";
export type { ThreadPage, ThreadRow, ThreadsClient } from "./client/threads-client.ts";
export { createThreadsClient } from "./client/threads-client.ts";
export type { Issue, ToolRunErrorCode } from "./errors.ts";
export { isToolRunError, ToolRunError } from "./errors.ts";
export type { ThreadEvent } from "./protocol/event.ts";
export type { Frame } from "./protocol/frame.ts";
export type { Grant } from "./protocol/grant.ts";
export { reduceThread } from "./protocol/reduce-thread.ts";
export type { AnyStep } from "./protocol/step.ts";
export type { Ask, Decision, Progress, StepStatus, Thread } from "./protocol/thread.ts";
export { emptyThread } from "./protocol/thread.ts";
export type {
  BaseUser,
  MessageOf,
  PartOf,
  Register,
  RegisteredAgent,
  Step,
  ToolInput,
  ToolName,
  TypedAgent,
  TypedTool,
  User,
  View,
} from "./protocol/typed.ts";
export type { Actor, DecisionScope, Json, LimitName, RunOutcome, Usage } from "./protocol/values.ts";
export type { NoticePart, Phase, ThreadView, ViewMessage, ViewPart, ViewTurn } from "./protocol/view-thread.ts";
export { viewThread } from "./protocol/view-thread.ts";
