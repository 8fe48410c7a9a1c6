import type { AnyStep } from "./step.ts";
import type { Json } from "./values.ts";
import type { ThreadView, ViewMessage, ViewPart } from "./view-thread.ts";

/**
 * Merge into it once, and every hook and verb knows your tools and user:
 * `declare module "toolrun" { interface Register { agent: typeof agent; user: AppUser } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Register {}

/** Who acts. Your `identify` returns it; at most 4 KB of JSON. */
export interface BaseUser {
  readonly id: string;
  readonly name?: string | undefined;
}

/** The app's user type: what `Register` says, else any object with an id. */
export type User = Register extends { user: infer Registered extends BaseUser }
  ? Registered
  : BaseUser & { readonly [key: string]: unknown };

/** The two types of a tool, inferred once from its schemas; a phantom, never there at run time. */
export interface ToolTypes {
  readonly input: unknown;
  readonly output: unknown;
}

/** What types read of a tool. */
export interface TypedTool<Types extends ToolTypes = ToolTypes> {
  readonly "~types"?: Types | undefined;
}

/** What types read of an agent. */
export interface TypedAgent<Tools extends Readonly<Record<string, TypedTool>> = Readonly<Record<string, TypedTool>>> {
  readonly "~tools"?: Tools | undefined;
}

/** The registered agent, else one whose tools are unknown. */
export type RegisteredAgent = Register extends { agent: infer Agent extends TypedAgent } ? Agent : TypedAgent;

type ToolsOf<Agent> = Agent extends { readonly "~tools"?: infer Tools | undefined } ? NonNullable<Tools> : never;
type TypesOf<Tool> = Tool extends { readonly "~types"?: infer Types extends ToolTypes | undefined }
  ? NonNullable<Types>
  : ToolTypes;

type StepOf<Name extends string, Types extends ToolTypes> =
  | WritingStep<Name>
  | OpenStep<Name, Types["input"]>
  | SucceededStep<Name, Types["input"], Types["output"]>
  | ClosedStep<Name, Types["input"]>;

/** The model is writing the arguments. */
export interface WritingStep<Name extends string> extends Omit<AnyStep, "children"> {
  readonly tool: Name;
  readonly status: "writing";
  readonly input: null;
  readonly children: readonly AnyStep[];
}
/** Waits, is queued or runs. */
export interface OpenStep<Name extends string, Input> extends Omit<AnyStep, "input" | "children"> {
  readonly tool: Name;
  readonly status: "waiting" | "queued" | "running";
  readonly input: Input;
  readonly children: readonly AnyStep[];
}
export interface SucceededStep<Name extends string, Input, Output>
  extends Omit<AnyStep, "input" | "output" | "children"> {
  readonly tool: Name;
  readonly status: "succeeded";
  readonly input: Input;
  readonly output: Output;
  readonly children: readonly AnyStep[];
}
/** Failed, or was not run. */
export interface ClosedStep<Name extends string, Input> extends Omit<AnyStep, "input" | "children"> {
  readonly tool: Name;
  readonly status: "failed" | "not-run";
  readonly input: Input;
  readonly children: readonly AnyStep[];
}

/** A step of an agent, discriminated by `tool` and `status`. An untyped agent gives AnyStep. */
export type Step<Agent = RegisteredAgent> = string extends keyof ToolsOf<Agent>
  ? AnyStep
  : { [Name in keyof ToolsOf<Agent> & string]: StepOf<Name, TypesOf<ToolsOf<Agent>[Name]>> }[keyof ToolsOf<Agent> &
      string];

/** Names of an agent's tools. */
export type ToolName<Agent = RegisteredAgent> = string extends keyof ToolsOf<Agent>
  ? string
  : keyof ToolsOf<Agent> & string;

/** Input of one of an agent's tools. */
export type ToolInput<Agent, Name extends string> = Name extends keyof ToolsOf<Agent>
  ? TypesOf<ToolsOf<Agent>[Name]>["input"]
  : Json;

/** A thread's view with an agent's steps. */
export type View<Agent = RegisteredAgent> = ThreadView<Step<Agent>>;
export type MessageOf<Agent = RegisteredAgent> = ViewMessage<Step<Agent>>;
export type PartOf<Agent = RegisteredAgent> = ViewPart<Step<Agent>>;
