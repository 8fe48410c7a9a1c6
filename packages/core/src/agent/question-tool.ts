import type { TypedTool } from "../protocol/typed.ts";
import type { Tool } from "./agent.ts";
import type { SchemaOutput, StandardSchema } from "./schema.ts";
import { jsonSchemaOf } from "./schema.ts";
import { textInput } from "./text-input.ts";
import type { CommonOptions } from "./tool.ts";
import { checkTime, commonOf } from "./tool.ts";

const QUESTION: StandardSchema<{ readonly question: string }> = textInput(
  "question",
  "The question, in words for the person.",
);

/** What a developer writes for a tool whose answer a person gives. */
export interface QuestionToolOptions<Schema extends StandardSchema, Answer extends StandardSchema>
  extends Omit<CommonOptions<Schema>, "inputSchema" | "readOnly" | "destructive" | "approval"> {
  /** What an answer must be: the form is made of it, and no other answer is taken. Plain JSON. */
  readonly answerSchema: Answer;
  /** @defaultValue `{ question: string }` */
  readonly inputSchema?: Schema | undefined;
  /** The question, made of the input. @defaultValue the input's `question` or `prompt` */
  readonly prompt?: ((input: SchemaOutput<Schema>) => string) | undefined;
  /** The question closes after this time. @defaultValue never */
  readonly expiresInMs?: number | undefined;
}

/**
 * The person as a tool: the model asks, the run waits, the answer is the result. It needs no approval, because it is
 * itself the question.
 * @throws `invalid-config` for a schema that is not plain JSON, or a time that is none.
 */
export function questionTool<
  Answer extends StandardSchema,
  Schema extends StandardSchema = StandardSchema<{ readonly question: string }>,
>(
  options: QuestionToolOptions<Schema, Answer>,
): Tool & TypedTool<{ input: SchemaOutput<Schema>; output: SchemaOutput<Answer> }> {
  const { answerSchema, inputSchema = QUESTION as unknown as Schema, prompt, expiresInMs, ...common } = options; // the default of Schema
  if (expiresInMs !== undefined) checkTime("expiresInMs", expiresInMs);
  const made: Tool = {
    ...commonOf("question", { ...common, inputSchema }),
    answer: {
      kind: "question",
      schema: answerSchema,
      jsonSchema: jsonSchemaOf(answerSchema, "answerSchema"),
      prompt: prompt as ((input: unknown) => string) | undefined, // gets this tool's own input
      expiresInMs,
    },
  };
  return made as Tool & TypedTool<{ input: SchemaOutput<Schema>; output: SchemaOutput<Answer> }>; // "~types" is a phantom
}
