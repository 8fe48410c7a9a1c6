import { ToolRunError } from "../errors.ts";
import { createPartMapper } from "./ai-sdk-parts.ts";
import { type CallOptions, createRequestMapper } from "./ai-sdk-request.ts";
import type { Model } from "./model.ts";
import { ModelError } from "./model.ts";
import { toModelError } from "./model-failure.ts";
import { readParts } from "./read-parts.ts";

/**
 * What we use of an AI SDK language model, whatever its spec. Structural: any version of the AI SDK fits, and
 * none is imported.
 */
interface AiSdkModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

/** What `model` takes: an AI SDK language model as it is, or an own object with `stream`. */
export type ModelInput = Model | AiSdkModel;

const made = new WeakMap<object, Model>();

/**
 * The model behind what was handed in. An own object is passed as it is; an AI SDK model of spec v2, v3 or v4
 * becomes a model, the same one each time.
 * @throws `invalid-config` for anything else, saying what it was and what to hand in.
 */
export function toModel(model: unknown): Model {
  if (isOwnModel(model)) return model;
  if (!isAiSdkModel(model)) throw refusal(model);
  const known = made.get(model) ?? fromAiSdk(model);
  made.set(model, known);
  return known;
}

function fromAiSdk(model: AiSdkModel): Model {
  const { provider: origin, modelId, specificationVersion: version } = model;
  const toOptions = createRequestMapper({ origin, version });
  return {
    id: `${origin}/${modelId}`,
    stream: (request, signal) =>
      readParts(
        { open: () => open(model, toOptions(request, signal)), map: createPartMapper(origin), fail: toModelError },
        signal,
      ),
  };
}

async function open(model: AiSdkModel, options: CallOptions): Promise<ReadableStream<unknown>> {
  const { stream } = await model.doStream(options as never); // the options of v2, v3 and v4 agree in all we send
  if (typeof stream?.getReader === "function") return stream;
  throw new ModelError("The model's doStream gave no ReadableStream.", { retryable: false });
}

function isOwnModel(model: unknown): model is Model {
  return isObject(model) && typeof model.stream === "function";
}

function isAiSdkModel(model: unknown): model is AiSdkModel {
  return isObject(model) && typeof model.doStream === "function" && /^v[234]$/.test(String(model.specificationVersion));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const HAND_IN =
  'Hand in an AI SDK language model of spec v2, v3 or v4, such as openai("gpt-5.4") of @ai-sdk/openai, or an own object with stream(request, signal).';

function refusal(model: unknown): ToolRunError {
  return new ToolRunError("invalid-config", `model is ${described(model)}. ${HAND_IN}`);
}

function described(model: unknown): string {
  if (typeof model === "string")
    return `the text ${JSON.stringify(model)}: a model's name alone says not who serves it`;
  if (typeof model === "function") return "a function: call it with a model's name first";
  if (!isObject(model)) return model === undefined ? "not given" : String(model);
  const { specificationVersion: version } = model;
  if (typeof version === "string") return `an AI SDK model of spec ${JSON.stringify(version)}`;
  return `an object with ${Object.keys(model).slice(0, 5).join(", ") || "no keys"}`;
}
