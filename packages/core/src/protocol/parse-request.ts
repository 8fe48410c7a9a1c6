import type * as z from "zod/mini";
import { safeParse } from "zod/mini";
import type { Issue } from "../errors.ts";
import { ToolRunError } from "../errors.ts";

/** A dozen say what is wrong; a hostile body has thousands. */
const ISSUES_SHOWN = 12;

/**
 * A request body that fits its schema.
 * @throws `bad-request` with issues that say where and what.
 */
export function parseRequest<Body>(schema: z.ZodMiniType<Body>, body: unknown): Body {
  const result = safeParse(schema, body, { error: describe });
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, ISSUES_SHOWN).map(toIssue);
  const [first] = issues;
  const where = first && first.path.length > 0 ? `"${first.path.join(".")}" ` : "The body ";
  throw new ToolRunError("bad-request", `${where}${first?.message ?? "is not valid"}.`, { issues });
}

function toIssue({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): Issue {
  return { path: path.map((step) => (typeof step === "number" ? step : String(step))), message };
}

type RawIssue = Parameters<NonNullable<NonNullable<Parameters<typeof safeParse>[2]>["error"]>>[0];

/** Words for what the schemas do not word themselves; zod/mini has none of its own. */
function describe(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${article(issue.expected)}`;
    case "unrecognized_keys":
      return `has unknown fields: ${issue.keys
        .slice(0, ISSUES_SHOWN)
        .map((name) => `"${name.slice(0, 40)}"`)
        .join(", ")}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => `"${String(value)}"`).join(" or ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    default:
      return "is not valid";
  }
}

function article(expected: string): string {
  if (expected === "int") return "a whole number";
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}
