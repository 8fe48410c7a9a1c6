export type {
  ActionResult,
  AnyStep,
  BaseUser,
  Connection,
  MessageOf,
  PartOf,
  Refusal,
  Register,
  RegisteredAgent,
  Step,
  StepStatus,
  ThreadRow,
  ToolInput,
  ToolName,
  ViewMessage,
  ViewPart,
} from "toolrun";
export type { UseThreads } from "./hooks/use-threads.ts";
export { useThreads } from "./hooks/use-threads.ts";
export type { UseToolRun, UseToolRunOptions } from "./hooks/use-tool-run.ts";
export { useToolRun } from "./hooks/use-tool-run.ts";
