import type { ModelPart } from "./model.ts";

/** Parts held for a consumer that is slower than the model; beyond it reading pauses. */
const HELD = 256;

/** Where parts come from and what becomes of them. */
export interface PartSource {
  /** Starts the model's answer. */
  open(): PromiseLike<ReadableStream<unknown>>;
  /** Adds what a provider's part means to us; true when the answer is whole. */
  map(part: unknown, parts: ModelPart[]): boolean;
  /** What to throw for an error of `open`, of the stream or of `map`. */
  fail(error: unknown): Error;
}

/**
 * Reads a provider's stream ahead of its consumer and hands over everything that is ready, as one array. One
 * await per part, the reader's own. Ends at the part that makes the answer whole, so that a connection that
 * breaks after it takes nothing back. An abort rejects at once, also when the provider does not listen.
 */
export function readParts(source: PartSource, signal: AbortSignal): AsyncIterableIterator<readonly ModelPart[]> {
  let parts: ModelPart[] = [];
  let state: "new" | "reading" | "whole" | "closed" = "new";
  let failure: { readonly error: unknown } | undefined;
  let reader: ReadableStreamDefaultReader<unknown> | undefined;
  let consumer: PromiseWithParts | undefined;
  let resume: (() => void) | undefined;

  const wake = (): void => {
    const waiting = consumer;
    if (!waiting) return;
    consumer = undefined;
    settle(waiting);
  };
  const settle = ({ resolve, reject }: PromiseWithParts): void => {
    if (parts.length > 0) {
      const value = parts;
      parts = [];
      resume?.();
      resolve({ value, done: false });
    } else if (failure) {
      const { error } = failure;
      failure = undefined;
      reject(error);
    } else {
      resolve({ value: undefined, done: true });
    }
  };
  const close = (end?: { readonly error: unknown }): void => {
    if (state === "closed") return;
    if (state !== "whole") failure = end;
    state = "closed";
    signal.removeEventListener("abort", onAbort);
    wake();
    resume?.();
  };
  const cancel = (): void => {
    parts = [];
    reader?.cancel(signal.reason).catch(() => {}); // it is over for us, whatever the provider makes of it
  };
  const onAbort = (): void => {
    cancel();
    close({ error: signal.reason });
  };

  const read = async (): Promise<void> => {
    try {
      const stream = await source.open();
      reader = stream.getReader();
      if (state === "closed") return cancel();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        // After the end the rest is read and dropped: that lets the connection be used again.
        if (state !== "reading") continue;
        if (source.map(value, parts)) {
          state = "whole";
          signal.removeEventListener("abort", onAbort);
          wake();
          continue;
        }
        if (parts.length === 0) continue;
        wake();
        if (parts.length >= HELD) await new Promise<void>((resolve) => (resume = resolve));
      }
      close();
    } catch (error) {
      reader?.cancel(error).catch(() => {}); // the same error again
      close({ error: source.fail(error) });
    }
  };

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (state === "new") {
        state = "reading";
        if (signal.aborted) onAbort();
        else {
          signal.addEventListener("abort", onAbort, { once: true });
          void read();
        }
      }
      return new Promise((resolve, reject) => {
        if (parts.length > 0 || state === "whole" || state === "closed") settle({ resolve, reject });
        else consumer = { resolve, reject };
      });
    },
    async return() {
      if (state !== "whole") cancel();
      close();
      return { value: undefined, done: true };
    },
  };
}

interface PromiseWithParts {
  readonly resolve: (result: IteratorResult<readonly ModelPart[], undefined>) => void;
  readonly reject: (error: unknown) => void;
}
