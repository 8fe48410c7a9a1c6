import { ToolRunError } from "../errors.ts";
import type { ModelInput } from "../model/ai-sdk.ts";
import { toModel } from "../model/ai-sdk.ts";
import type { Model } from "../model/model.ts";

/** A model, or several: the first is asked, each other when those before it used up their attempts. */
export type ModelList = ModelInput | readonly ModelInput[];

/** A model under the name the log knows it by. */
export interface NamedModel {
  readonly id: string;
  readonly model: Model;
}

/** More would only keep a person waiting for longer. */
export const MAX_MODELS = 10;

/** @throws `invalid-config` for what is no model, none at all, or more than ten. */
export function toModels(given: ModelList): readonly NamedModel[] {
  const list = Array.isArray(given) ? (given as readonly ModelInput[]) : [given as ModelInput]; // not a list
  if (list.length < 1 || list.length > MAX_MODELS) {
    throw new ToolRunError("invalid-config", `model lists ${list.length} models; give 1 to ${MAX_MODELS}.`);
  }
  return list.map((each) => {
    const model = toModel(each);
    return { id: model.id ?? "model", model };
  });
}
