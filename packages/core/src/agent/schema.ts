import type { Issue } from "../errors.ts";
import { ToolRunError } from "../errors.ts";
import type { Json } from "../protocol/values.ts";

/** What a schema library gives under `~standard`: Standard Schema, with its JSON Schema part. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?:
      | {
          readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
          readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
        }
      | undefined;
  };
}

interface SchemaResult<Output> {
  readonly value?: Output | undefined;
  readonly issues?: readonly SchemaIssue[] | undefined;
}

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema accepts. */
export type SchemaOutput<Schema> = Schema extends StandardSchema<infer _Input, infer Output> ? Output : never;

const TARGET = { target: "draft-2020-12" } as const;

/**
 * JSON Schema of a tool's input, as the model and the edit form read it.
 * `output` is what comes out of the schema: defaults are there, keys it does not know are not.
 * @throws `invalid-config` when the schema has none, or holds values that are not plain JSON (dates,
 * transforms): the validated input is shown, digested, stored and run, so it must be JSON.
 */
export function jsonSchemaOf(schema: StandardSchema, what: string, side: "input" | "output" = "input"): Json {
  const convert = schema?.["~standard"]?.jsonSchema;
  if (!convert) {
    throw new ToolRunError(
      "invalid-config",
      `${what} needs a schema with JSON Schema support, such as zod 4: ${what}: z.object({ … }).`,
    );
  }
  try {
    const output = convert.output(TARGET) as Json; // JSON Schema is JSON
    return side === "output" ? output : (convert.input(TARGET) as Json); // as above
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ToolRunError(
      "invalid-config",
      `${what} must describe plain JSON, because the validated input is stored and shown: ${why} Use z.iso.date() instead of z.date(), and do the conversion inside execute.`,
      { cause },
    );
  }
}

/** A schema made of the JSON Schema that a log holds. Loads all of zod, so only when it is needed. */
export async function schemaFromJson(schema: Json): Promise<StandardSchema> {
  const { fromJSONSchema } = await import("zod");
  return fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]); // made by jsonSchemaOf
}

/** A value, or what is wrong with it. */
export type Parsed = { readonly value: unknown } | { readonly issues: readonly Issue[] };

/** Validates with the schema; synchronous where the schema is. */
export function parseWith(schema: StandardSchema, value: unknown): Parsed | Promise<Parsed> {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then(toParsed) : toParsed(result);
}

function toParsed(result: SchemaResult<unknown>): Parsed {
  return result.issues ? { issues: result.issues.map(toIssue) } : { value: result.value };
}

function toIssue(issue: SchemaIssue): Issue {
  const path = (issue.path ?? []).map((part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
  return { path, message: issue.message };
}
