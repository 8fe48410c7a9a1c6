const armed = new Set<AbortSignal>();

/**
 * Calls back once after `ms`; the returned function cancels it. Next's development server throws away every
 * setTimeout of an edge route when a page is saved; AbortSignal.timeout survives.
 */
export function after(ms: number, callback: () => void): () => void {
  const signal = AbortSignal.timeout(Math.max(1, Math.ceil(ms)));
  const cancel = (): void => {
    armed.delete(signal);
    signal.removeEventListener("abort", fire);
  };
  const fire = (): void => {
    cancel();
    callback();
  };
  armed.add(signal); // a signal nobody holds may be collected before it fires
  signal.addEventListener("abort", fire);
  return cancel;
}
