import * as z from "zod";
import type { StandardSchema } from "../../../src/agent/schema.ts";
import type { AnswerSchemaName, SchemaName } from "./plan.ts";

const AMOUNT_JSON_SCHEMA = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };

/** A schema of an own make; zod's are among the others. */
function own(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  const convert = (): Record<string, unknown> => AMOUNT_JSON_SCHEMA;
  return { "~standard": { version: 1, vendor: "planned", validate, jsonSchema: { input: convert, output: convert } } };
}

const throws = own(() => {
  throw new Error("planned: this schema throws");
});
const hangs = own(() => new Promise(() => undefined));

export const INPUT_SCHEMAS: Readonly<Record<SchemaName, StandardSchema>> = {
  amount: z.object({ amount: z.number() }),
  defaults: z.object({ amount: z.number().default(5), note: z.string().optional() }),
  empty: z.object({}),
  any: z.any(),
  later: own(async (value) => ({ value })),
  throws,
  rejects: own(() => Promise.reject(new Error("planned: this schema rejects"))),
  hangs,
  grows: own((value) => {
    const amount = typeof value === "object" && value !== null && "amount" in value ? Number(value.amount) : 0;
    return { value: { amount: Number.isFinite(amount) ? amount + 1 : 0 } };
  }),
};

export const ANSWER_SCHEMAS: Readonly<Record<AnswerSchemaName, StandardSchema>> = {
  text: z.string(),
  amount: z.object({ amount: z.number() }),
  any: z.any(),
  throws,
  hangs,
};
