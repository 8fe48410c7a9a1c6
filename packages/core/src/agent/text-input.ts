import type { StandardSchema } from "./schema.ts";

/** The input of a tool that takes one text: what a question or a task is by default. */
export function textInput<Name extends string>(
  name: Name,
  description: string,
): StandardSchema<{ readonly [Key in Name]: string }> {
  const jsonSchema = {
    type: "object",
    properties: { [name]: { type: "string", description } },
    required: [name],
    additionalProperties: false,
  };
  return {
    "~standard": {
      version: 1,
      vendor: "toolrun",
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
      validate(value) {
        const text = typeof value === "object" && value !== null && Object.hasOwn(value, name) ? value : undefined;
        const given = text && (text as { readonly [key: string]: unknown })[name]; // an own property
        if (typeof given !== "string") return { issues: [{ message: "must be a text", path: [name] }] };
        return { value: { [name]: given } as { readonly [Key in Name]: string } }; // exactly this one key
      },
    },
  };
}
