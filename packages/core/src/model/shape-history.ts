import { ToolRunError } from "../errors.ts";
import type { Compacted, CompactOptions, CompactWork } from "./compact-history.ts";
import { compactHistory } from "./compact-history.ts";
import type { Masked, MaskOptions } from "./mask-results.ts";
import { maskResults } from "./mask-results.ts";
import type { ModelMessage } from "./model.ts";

/** How a long history is made to fit. Nothing of it happens by default; the log keeps everything. */
export interface HistoryOptions {
  /** Large old results become placeholders; `{}` for the defaults. */
  readonly mask?: MaskOptions | undefined;
  /** Old messages become a summary. */
  readonly compact?: CompactOptions | undefined;
}

/** What surrounds the work on one request, and who hears of what was done. */
export interface ShapeWork extends Pick<CompactWork, "signal" | "onError"> {
  /** Called when something is left out that was not before. */
  readonly onShaped?: ((shaped: Shaped) => void) | undefined;
}

/** What was left out for the first time. */
export type Shaped = ({ readonly type: "masked" } & Masked) | ({ readonly type: "compacted" } & Compacted);

/**
 * The history as it goes out: results masked, then old messages summarised. Calls and results stay paired. Synchronous
 * unless a summary has to be waited for; returns `messages` itself when nothing changes. Never rejects.
 */
export function shapeHistory(
  messages: readonly ModelMessage[],
  { mask, compact }: HistoryOptions,
  work: ShapeWork = {},
): readonly ModelMessage[] | Promise<readonly ModelMessage[]> {
  const { signal, onError } = work;
  const tell = (shaped: Shaped): void => {
    try {
      work.onShaped?.(shaped);
    } catch (error) {
      onError?.(error); // who only watches changes nothing
    }
  };
  const masked = mask ? maskResults(messages, mask, (made) => tell({ type: "masked", ...made })) : messages;
  if (!compact) return masked;
  return compactHistory(masked, compact, {
    signal,
    onError,
    onCompacted: (made) => tell({ type: "compacted", ...made }),
  });
}

/** @throws `invalid-config` naming the setting, its value and the fix. */
export function checkHistoryOptions({ mask, compact }: HistoryOptions): void {
  atLeastOne("history.mask.olderThanTurns", mask?.olderThanTurns);
  atLeastOne("history.mask.atLeastTokens", mask?.atLeastTokens);
  if (mask?.keep !== undefined && !Array.isArray(mask.keep))
    throw wrong("history.mask.keep", "a list of tools", mask.keep);
  if (!compact) return;
  const { maxTokens, keepTokens, summarise, reminder } = compact;
  if (maxTokens === undefined) throw wrong("history.compact.maxTokens", "a whole number of at least 1", maxTokens);
  atLeastOne("history.compact.maxTokens", maxTokens);
  atLeastOne("history.compact.keepTokens", keepTokens);
  if (keepTokens !== undefined && keepTokens >= maxTokens) {
    throw wrong("history.compact.keepTokens", `less than maxTokens, which is ${maxTokens}`, keepTokens);
  }
  if (summarise !== undefined && typeof summarise !== "function") {
    throw wrong("history.compact.summarise", "a function", summarise);
  }
  if (reminder !== undefined && typeof reminder !== "string")
    throw wrong("history.compact.reminder", "a text", reminder);
}

function atLeastOne(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1)) return;
  throw wrong(name, "a whole number of at least 1", value);
}

function wrong(name: string, fix: string, value: unknown): ToolRunError {
  return new ToolRunError("invalid-config", `${name} must be ${fix}; it is ${String(value)}.`);
}
