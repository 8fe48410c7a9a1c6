import type { Tool } from "../../../src/agent/agent.ts";
import type { AgentOptions } from "../../../src/agent/define-agent.ts";
import type { McpSource, McpToolsOptions } from "../../../src/mcp.ts";
import { mcpTools } from "../../../src/mcp.ts";
import type { View } from "../../../src/protocol/typed.ts";
import type { Json } from "../../../src/protocol/values.ts";
import type { ToolRun } from "../../../src/server.ts";
import { createToolRun, defineAgent, memoryStore } from "../../../src/server.ts";
import type { ScriptEntry, ScriptedModel } from "../../../src/testing/scripted-model.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";

export const clerk = { id: "clerk" } as const;

export interface Assistant {
  readonly toolrun: ToolRun;
  readonly model: ScriptedModel;
  /** Everything that was reported on the server. */
  readonly errors: unknown[];
  /** What mcpTools said about tools it left out. */
  readonly leftOut: string[];
  readonly threadId: string;
  /** Sends a first message and waits until the run ended or waits for a person. */
  start(): Promise<View>;
  /** Sends a first message and goes on. */
  begin(): Promise<void>;
  read(): Promise<View>;
  /** Approves what waits, and waits until it rests again. */
  approve(view: View, input?: Json): Promise<View>;
  answer(view: View, value: Json): Promise<View>;
}

/** An agent with a server's tools that plays a script, on the whole server with a memory store. */
export function assistant(
  source: McpSource,
  script: readonly ScriptEntry[],
  mcp: McpToolsOptions = {},
  options: Partial<Omit<AgentOptions<Readonly<Record<string, Tool>>>, "model">> = {},
): Assistant {
  const errors: unknown[] = [];
  const leftOut: string[] = [];
  const model = scriptedModel(script);
  const onError = (error: Error): void => void leftOut.push(error.message);
  const agent = defineAgent({ dynamicTools: () => mcpTools(source, { onError, ...mcp }), ...options, model });
  const toolrun = createToolRun({ agent, store: memoryStore(), onError: (error) => void errors.push(error) });
  let threadId = "";
  const only = (view: View) => {
    const [step] = view.pending;
    if (!step || view.pending.length > 1) throw new Error(`${view.pending.length} steps wait; one was expected.`);
    return step;
  };
  return {
    ...{ toolrun, model, errors, leftOut },
    get threadId() {
      return threadId;
    },
    async start() {
      const sent = await toolrun.send({ user: clerk, message: "Go" });
      threadId = sent.threadId;
      return sent.settled();
    },
    async begin() {
      threadId = (await toolrun.send({ user: clerk, message: "Go" })).threadId;
    },
    async read() {
      const view = await toolrun.read({ user: clerk, threadId });
      if (!view) throw new Error("There is no thread.");
      return view;
    },
    approve: async (view, input) => (await toolrun.approve(only(view), { user: clerk, input })).settled(),
    answer: async (view, value) => (await toolrun.answer(only(view), { user: clerk, value })).settled(),
  };
}
