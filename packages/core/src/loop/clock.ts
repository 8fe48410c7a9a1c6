/** Time and randomness, handed in so that tests decide them. */
export interface Clock {
  /** Wall clock, ms since the epoch. */
  now(): number;
  /** Never goes back; for deadlines. */
  monotonic(): number;
  /** Calls back once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** From 0 to 1, for jitter. */
  random(): number;
  /** Resolves when everything that is ready now has run: what arrives until then travels together. */
  breath(): Promise<void>;
}

interface Entry {
  readonly due: number;
  readonly callback: () => void;
}

/** The one file with timers. */
export function systemClock(): Clock {
  const after = onCloudflare() ? afterInRequest : armedTimers();
  return { now: () => Date.now(), monotonic: () => performance.now(), after, breath, random: Math.random };
}

/** True on Cloudflare Workers: what a request sets up, such as a timer, is its own and ends with it. */
export function onCloudflare(): boolean {
  return typeof navigator === "object" && navigator.userAgent === "Cloudflare-Workers";
}

/** One signal for all would end with the request that armed it, and before that call others back in its name. */
function afterInRequest(ms: number, callback: () => void): () => void {
  let cancelled = false;
  const timer = setTimeout(() => cancelled || callback(), Math.min(Math.max(0, ms), LONGEST_MS));
  return () => {
    cancelled = true; // another request cannot clear the timer
    clearTimeout(timer);
  };
}

const LONGEST_MS = 2_000_000_000;

/**
 * Next's development server throws away every setTimeout of an edge route when a page is saved; AbortSignal.timeout
 * survives. One signal is armed for the earliest entry.
 */
function armedTimers(): Clock["after"] {
  const entries = new Set<Entry>();
  let armedFor = Number.POSITIVE_INFINITY;

  const fire = (): void => {
    armedFor = Number.POSITIVE_INFINITY;
    const now = performance.now();
    try {
      const due = [...entries].filter((entry) => entry.due <= now).sort((left, right) => left.due - right.due);
      // One that was due with the others may have been cancelled by them.
      for (const entry of due) if (entries.delete(entry)) entry.callback();
    } finally {
      let next = Number.POSITIVE_INFINITY;
      for (const entry of entries) next = Math.min(next, entry.due);
      arm(next); // also when a callback threw: the others still wait
    }
  };
  const arm = (due: number): void => {
    if (due >= armedFor) return;
    armedFor = due;
    const ms = Math.max(1, Math.min(Math.ceil(due - performance.now()), LONGEST_MS));
    const signal = AbortSignal.timeout(ms);
    armed.add(signal); // a signal nobody holds may be collected before it fires
    signal.addEventListener("abort", () => {
      armed.delete(signal);
      fire();
    });
  };

  return (ms, callback) => {
    const entry = { due: performance.now() + Math.max(0, ms), callback };
    entries.add(entry);
    arm(entry.due);
    return () => entries.delete(entry);
  };
}

const armed = new Set<AbortSignal>();

/** A turn of the event loop where the runtime has one to give, else a few microtasks. Next's edge runtime has a setImmediate that throws. */
function breath(): Promise<void> {
  if (typeof setImmediate === "function" && !("EdgeRuntime" in globalThis))
    return new Promise((resolve) => setImmediate(resolve));
  return microtasks(32);
}

async function microtasks(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await undefined;
}

/** 132 random bits as 22 base64url characters. */
export function newId(): string {
  if (at + BYTES > pool.length) {
    crypto.getRandomValues(pool);
    at = 0;
  }
  const codes: number[] = [];
  for (const end = at + BYTES; at < end; at++) codes.push(ID_ALPHABET.charCodeAt((pool[at] ?? 0) & 63));
  return String.fromCharCode(...codes);
}

const BYTES = 22;
const ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const pool = new Uint8Array(BYTES * 128);
let at = pool.length;
