/**
 * What a tool says of itself, as MCP servers do: hints for policies, which see them as `call.annotations`. None of them
 * allows anything; `destructiveHint: true` makes a tool destructive unless the app says otherwise.
 */
export interface ToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}
