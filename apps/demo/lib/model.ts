import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ToolRunError } from "toolrun";
import { shopAssistant } from "./scenarios.ts";

/** The model that answers, and what may be said about it on screen. */
export interface DemoModel {
  readonly model: ReturnType<ReturnType<typeof createOpenAI>["chat"]> | ReturnType<typeof shopAssistant>;
  /** For people: `OpenAI gpt-5.4`. */
  readonly label: string;
  readonly scripted: boolean;
  /** The variable that decided; null when there was none. Its value stays here. */
  readonly source: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Which model plays the assistant: a real one where there is a key, else a script that says so. In production the
 * script must be asked for by name, so that nobody ships it unawares.
 * @throws `misconfigured` in production without a key or `TOOLRUN_MODEL=scripted`.
 */
export function demoModel(environment: Environment = process.env): DemoModel {
  const { TOOLRUN_MODEL, OPENAI_API_KEY, ANTHROPIC_API_KEY, AI_GATEWAY_API_KEY, OPENAI_BASE_URL } = environment;
  if (TOOLRUN_MODEL === "scripted") return scripted(environment, "TOOLRUN_MODEL");
  if (TOOLRUN_MODEL) {
    throw new ToolRunError(
      "misconfigured",
      `TOOLRUN_MODEL is ${JSON.stringify(TOOLRUN_MODEL)}: only "scripted" is known. Remove it to use a key.`,
    );
  }
  if (OPENAI_API_KEY) return openAi(OPENAI_API_KEY, environment);
  if (ANTHROPIC_API_KEY) return anthropic(ANTHROPIC_API_KEY, environment);
  if (AI_GATEWAY_API_KEY) return gateway(AI_GATEWAY_API_KEY, environment);
  if (OPENAI_BASE_URL) return compatible(OPENAI_BASE_URL, environment);
  // A build only loads the routes: what answers is decided where they run.
  const building = environment.NEXT_PHASE === "phase-production-build";
  if (environment.NODE_ENV !== "production" || building) return scripted(environment, null);
  throw new ToolRunError(
    "misconfigured",
    "No model is set. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, AI_GATEWAY_API_KEY or OPENAI_BASE_URL, or TOOLRUN_MODEL=scripted for the offline demo.",
  );
}

/** With a base URL it is a server of OpenAI's kind: those speak chat, not all of them Responses. */
function openAi(apiKey: string, { OPENAI_BASE_URL: baseURL, OPENAI_MODEL: name = "gpt-5.4" }: Environment): DemoModel {
  const provider = createOpenAI({ apiKey, ...(baseURL && { baseURL }) });
  const model = baseURL ? provider.chat(name) : provider(name);
  return { model, label: `OpenAI ${name}`, scripted: false, source: "OPENAI_API_KEY" };
}

function anthropic(apiKey: string, { ANTHROPIC_MODEL: name = "claude-sonnet-5-5" }: Environment): DemoModel {
  return {
    model: createAnthropic({ apiKey })(name),
    label: `Anthropic ${name}`,
    scripted: false,
    source: "ANTHROPIC_API_KEY",
  };
}

/** The gateway speaks the chat API, so that it needs no package of its own. */
function gateway(apiKey: string, { AI_GATEWAY_MODEL: name = "openai/gpt-5.4" }: Environment): DemoModel {
  const provider = createOpenAICompatible({
    name: "gateway",
    apiKey,
    baseURL: "https://ai-gateway.vercel.sh/v1",
    includeUsage: true,
  });
  return { model: provider(name), label: `AI Gateway ${name}`, scripted: false, source: "AI_GATEWAY_API_KEY" };
}

function compatible(baseURL: string, { OPENAI_MODEL: name }: Environment): DemoModel {
  if (!name) {
    throw new ToolRunError("misconfigured", "OPENAI_BASE_URL needs OPENAI_MODEL, the name of a model of that server.");
  }
  const provider = createOpenAICompatible({ name: "compatible", baseURL, includeUsage: true });
  return { model: provider(name), label: name, scripted: false, source: "OPENAI_BASE_URL" };
}

function scripted({ TOOLRUN_SCRIPT_DELAY_MS: delay }: Environment, source: string | null): DemoModel {
  const delayMs = delay !== undefined && /^\d+$/.test(delay) ? Number(delay) : 15;
  return { model: shopAssistant({ delayMs }), label: "Offline demo", scripted: true, source };
}
