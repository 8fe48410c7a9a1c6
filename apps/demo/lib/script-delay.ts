/** Pause before each piece of a scripted answer, so that one sees it stream. */
export function scriptDelayMs(delay: string | undefined = process.env.TOOLRUN_SCRIPT_DELAY_MS): number {
  return delay !== undefined && /^\d+$/.test(delay) ? Number(delay) : 15;
}
