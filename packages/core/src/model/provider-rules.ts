import { hashText } from "../protocol/digest.ts";

/**
 * What a provider asks of a request, beyond what its AI SDK package sees to. Providers change these rules: the table
 * holds what their documents said on the day of {@link PROVIDER_RULES_AS_OF}, and docs/models.md shows it.
 */
export interface ProviderRules {
  /** Ids of calls that it takes; others, from another provider's turn, become `chars` letters and digits. */
  readonly callId: { readonly legal: RegExp; readonly chars: number };
  /** Keywords of JSON Schema that it knows; one it does not know costs the whole request. Undefined: all. */
  readonly schemaKeywords: ReadonlySet<string> | undefined;
  /** True: where nothing is said, it makes every field required; so `strict: false` is said. */
  readonly strictUnlessTold: boolean;
  /** True: a person's message may not come right after results; the assistant says a word in between. */
  readonly answersResults: boolean;
  /** Events of its streams; a later one, which it may add any day, is passed over. Undefined: the package does so. */
  readonly events: ReadonlySet<string> | undefined;
}

export const PROVIDER_RULES_AS_OF = "2026-12-01";

/** Names of tools that every provider takes; tool-name.ts makes one of any other. */
export const LEGAL_TOOL_NAME: RegExp = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const ANY: ProviderRules = {
  callId: { legal: /^[\x21-\x7e]{1,64}$/, chars: 24 }, // some want their own ids back as they were: `functions.find:0`
  schemaKeywords: undefined,
  strictUnlessTold: false,
  answersResults: false,
  events: undefined,
};

const OPENAI: ProviderRules = { ...ANY, strictUnlessTold: true };

/** By the provider's id, as an AI SDK model has it. The first that fits counts. */
const TABLE: readonly (readonly [provider: RegExp, rules: ProviderRules])[] = [
  [/bedrock/, { ...ANY, callId: { legal: /^[A-Za-z0-9_-]{1,64}$/, chars: 24 } }],
  [
    /anthropic/,
    {
      ...ANY,
      callId: { legal: /^[A-Za-z0-9_-]{1,64}$/, chars: 24 },
      events: words(
        "message_start message_delta message_stop content_block_start content_block_delta content_block_stop ping error",
      ),
    },
  ],
  [/^(openai|azure|azure-openai)\.responses$/, { ...OPENAI, callId: { legal: /^[A-Za-z0-9_-]{1,64}$/, chars: 24 } }],
  [/^(openai|azure|azure-openai)\.chat$/, { ...OPENAI, callId: { legal: /^[\x21-\x7e]{1,40}$/, chars: 24 } }],
  [
    /^google\.|vertex/,
    {
      ...ANY,
      schemaKeywords: words(
        "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering",
      ),
    },
  ],
  [/mistral/, { ...ANY, callId: { legal: /^[A-Za-z0-9]{9}$/, chars: 9 }, answersResults: true }],
];

/** The rules of a provider; those that hold everywhere for one that is not in the table. */
export function rulesOf(origin: string): ProviderRules {
  return TABLE.find(([provider]) => provider.test(origin))?.[1] ?? ANY;
}

/** A call's id as the provider takes it: its own as they are, any other always as the same one. */
export function wireCallId(id: string, { callId }: ProviderRules): string {
  if (callId.legal.test(id)) return id;
  return hashText(JSON.stringify(id)).replace(/[-_]/g, "").slice(0, callId.chars); // JSON tells half characters apart
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}
