const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/**
 * How long to wait before try number `attempt` + 1: doubles up to 15 s. Half of it is jitter
 * (`random` in 0..1), so that a server that comes back is not met by everybody at once.
 */
export function nextDelay(attempt: number, random: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, attempt - 1));
  return Math.round((ceiling * (1 + random)) / 2);
}
