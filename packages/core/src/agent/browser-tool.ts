import type { TypedTool } from "../protocol/typed.ts";
import type { Tool } from "./agent.ts";
import type { SchemaOutput, StandardSchema } from "./schema.ts";
import { jsonSchemaOf } from "./schema.ts";
import type { CommonOptions } from "./tool.ts";
import { checkTime, commonOf } from "./tool.ts";

/** What a developer writes for a tool the browser runs. */
export interface BrowserToolOptions<Schema extends StandardSchema, Output extends StandardSchema>
  extends CommonOptions<Schema> {
  /** What the browser gives back; anything else is refused. Plain JSON. */
  readonly outputSchema: Output;
  /** How long the run waits for a browser that has it open. @defaultValue 600,000 */
  readonly timeoutMs?: number | undefined;
}

/** A tool the browser runs, as types see it: what `useToolRun({ tools })` takes. */
export type BrowserTool<Types extends { readonly input: unknown; readonly output: unknown }> = Tool & {
  readonly kind: "browser";
} & TypedTool<Types>;

/**
 * A tool the browser runs, in one tab, once: declared here, implemented in `useToolRun({ tools })`. Unless it is
 * `readOnly` the person is asked first. What comes back is the browser's word, checked by the schema and no more.
 * @throws `invalid-config` for a schema that is not plain JSON, or a time that is none.
 */
export function browserTool<Schema extends StandardSchema, Output extends StandardSchema>(
  options: BrowserToolOptions<Schema, Output>,
): BrowserTool<{ input: SchemaOutput<Schema>; output: SchemaOutput<Output> }> {
  const { outputSchema, timeoutMs = 600_000, ...common } = options;
  checkTime("timeoutMs", timeoutMs);
  const jsonSchema = jsonSchemaOf(outputSchema, "outputSchema");
  const answer = {
    kind: "browser",
    schema: outputSchema,
    jsonSchema,
    prompt: undefined,
    expiresInMs: timeoutMs,
  } as const;
  const made: Tool = { ...commonOf("browser", common), answer };
  return made as BrowserTool<{ input: SchemaOutput<Schema>; output: SchemaOutput<Output> }>; // "~types" is a phantom
}
