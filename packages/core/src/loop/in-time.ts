import type { Clock } from "./clock.ts";

/** How long an app's own rule or schema may think about one call. */
export const RULE_MS: number = 10_000;

/** The value of some work, or another one when it takes too long. What comes later is ignored. */
export async function inTime<Value, Late>(
  clock: Clock,
  work: Promise<Value>,
  ms: number,
  late: Late,
): Promise<Value | Late> {
  let cancel: () => void = () => undefined;
  const over = new Promise<Late>((resolve) => {
    cancel = clock.after(ms, () => resolve(late));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    cancel();
  }
}
