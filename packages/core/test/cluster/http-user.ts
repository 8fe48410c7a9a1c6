import { setTimeout as sleep } from "node:timers/promises";

/** One person's requests, each tried again with the same bytes until a server answers it. */
export interface HttpUser {
  readonly id: string;
  readonly url: string;
  get(path: string): Promise<Answered>;
  post(path: string, body: unknown): Promise<Answered>;
}

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what the tests read of it they check
  readonly body: any;
}

const ANSWER_WITHIN_MS = 3_000;

/** `base` says which server to ask, at each request anew. */
export function httpUser(base: () => string, id: string, deadline: number): HttpUser {
  const address = (): string => `${base()}/api/threads`;
  const ask = async (path: string, init: RequestInit): Promise<Answered> => {
    for (let error: unknown = "nothing"; Date.now() < deadline; await sleep(40)) {
      try {
        const response = await fetch(address() + path, { ...init, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
        const text = await response.text();
        if (response.status < 500) return { status: response.status, body: JSON.parse(text) };
        error = `${response.status} ${text}`;
      } catch (cause) {
        error = cause;
      }
      if (Date.now() >= deadline) throw new Error(`No server answered ${path}.`, { cause: error });
    }
    throw new Error(`No time is left for ${path}.`);
  };
  return {
    id,
    get url() {
      return address();
    },
    get: (path) => ask(path, { headers: { "x-user": id } }),
    post: (path, body) =>
      ask(path, {
        method: "POST",
        headers: { "x-user": id, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  };
}
