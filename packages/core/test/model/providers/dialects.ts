import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createAnthropic as createAnthropicV2 } from "anthropic-v2";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createGoogleGenerativeAI as createGoogleV2 } from "google-v2";
import { createGoogleGenerativeAI as createGoogleV4 } from "google-v4";
import { createOpenAICompatible as createCompatibleV2 } from "openai-compatible-v2";
import { createOpenAICompatible as createCompatibleV4 } from "openai-compatible-v4";
import { createOpenAI as createOpenAIV2 } from "openai-v2";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import type { ModelInput } from "../../../src/model/ai-sdk.ts";

/** The forms in which providers answer, each with a package that reads it. */
export const DIALECTS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Servers that say they speak OpenAI's chat form, and differ. */
export const COMPATIBLE = ["azure", "groq", "ollama", "deepseek", "mistral", "openrouter"] as const;
export type Compatible = (typeof COMPATIBLE)[number];

/** Generations of the AI SDK's provider packages, by their spec. */
export const GENERATIONS = ["v2", "v3", "v4"] as const;
export type Generation = (typeof GENERATIONS)[number];

const PACKAGES = {
  v2: {
    openai: createOpenAIV2,
    anthropic: createAnthropicV2,
    google: createGoogleV2,
    compatible: createCompatibleV2,
  },
  v3: {
    openai: createOpenAI,
    anthropic: createAnthropic,
    google: createGoogleGenerativeAI,
    compatible: createOpenAICompatible,
  },
  v4: {
    openai: createOpenAIV4,
    anthropic: createAnthropicV4,
    google: createGoogleV4,
    compatible: createCompatibleV4,
  },
} as const;

export interface Reach {
  readonly url: string;
  readonly fetch?: typeof fetch | undefined;
  readonly model?: string | undefined;
}

/** The real provider package's model of a dialect or a compatible server. */
export function modelOf(speaks: Dialect | Compatible, generation: Generation, reach: Reach): ModelInput {
  const { openai, anthropic, google, compatible } = PACKAGES[generation];
  const settings = { apiKey: "k", ...(reach.fetch && { fetch: reach.fetch }) };
  switch (speaks) {
    case "openai-chat":
      return openai({ ...settings, baseURL: `${reach.url}/v1` }).chat(reach.model ?? "gpt-4.1");
    case "openai-responses":
      return openai({ ...settings, baseURL: `${reach.url}/v1` }).responses(reach.model ?? "gpt-5.4");
    case "anthropic":
      return anthropic({ ...settings, baseURL: `${reach.url}/v1` })(reach.model ?? "claude-sonnet-5-5");
    case "gemini":
      return google({ ...settings, baseURL: `${reach.url}/v1beta` })(reach.model ?? "gemini-3-pro");
    default:
      return compatible({ ...settings, name: speaks, baseURL: `${reach.url}/v1` })(reach.model ?? "some-model");
  }
}
