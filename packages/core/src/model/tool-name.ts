import { ToolRunError } from "../errors.ts";
import { hashText } from "../protocol/digest.ts";
import { LEGAL_TOOL_NAME as LEGAL } from "./provider-rules.ts"; // an illegal one costs the whole request, used or not

const MAX_CHARS = 64;
const HASH_CHARS = 10;

/** The few illegal names an app has, and those its models invent. */
const mapped = new Map<string, string>();
const MAX_MAPPED = 1_000;

/**
 * A tool's name as the model reads and writes it: legal names as they are, any other as its legal letters and a short
 * hash. Deterministic, always legal, and the same again for its own result.
 */
export function wireToolName(name: string): string {
  if (LEGAL.test(name)) return name;
  const known = mapped.get(name);
  if (known !== undefined) return known;
  const made = `${readable(name)}_${shortHash(name)}`;
  if (mapped.size >= MAX_MAPPED) mapped.clear();
  if (name.length <= 4 * MAX_CHARS) mapped.set(name, made); // longer ones are no app's, and not worth the memory
  return made;
}

/**
 * The tools of an agent by the names that the model calls them by.
 * @throws `invalid-config` when two tools would have one name for the model: a legal name can look like a mapped one.
 */
export function wireNames(names: Iterable<string>): Map<string, string> {
  const byWire = new Map<string, string>();
  for (const name of names) {
    const wire = wireToolName(name);
    const other = byWire.get(wire) ?? name;
    if (other !== name) {
      throw new ToolRunError(
        "invalid-config",
        `The tools ${JSON.stringify(other)} and ${JSON.stringify(name)} would both be ${wire} for the model: rename one of them.`,
      );
    }
    byWire.set(wire, name);
  }
  return byWire;
}

/** What can be kept of an illegal name, so that the model still sees what the tool is for. */
function readable(name: string): string {
  const letters = name.slice(0, 4 * MAX_CHARS).replace(/[^A-Za-z0-9_-]+/g, "_");
  const begun = /^[A-Za-z_]/.test(letters) ? letters : `_${letters}`;
  return begun.slice(0, MAX_CHARS - 1 - HASH_CHARS).replace(/_+$/, "");
}

/** Letters and digits only, which models copy best. JSON tells half characters apart, UTF-8 does not. */
function shortHash(name: string): string {
  return hashText(JSON.stringify(name)).replace(/[-_]/g, "").slice(0, HASH_CHARS);
}
