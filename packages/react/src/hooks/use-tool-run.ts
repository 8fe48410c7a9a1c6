"use client";
import { useEffect, useInsertionEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import useSWR, { useSWRConfig } from "swr";
import type { RegisteredAgent, Step, ThreadClient, ThreadClientOptions, ThreadSnapshot, WireOptions } from "toolrun";
import { createThreadClient } from "toolrun";
import {
  clientFor,
  keepClient,
  onStoredThread,
  renewClient,
  setWire,
  storedThread,
  storeThread,
  wireOf,
} from "./clients.ts";
import type { TypedActions } from "./typed-actions.ts";
import { threadsKey } from "./use-threads.ts";

const POLL_WAITING_MS = 5_000;

export interface UseToolRunOptions<Agent = RegisteredAgent> extends WireOptions {
  /**
   * The thread to show; another id shows another thread.
   * @defaultValue the thread this tab had open, kept in sessionStorage; with `onThread` or `initial`, a new one
   */
  readonly threadId?: string | undefined;
  /** A thread from a server render (`toolrun.read`) or the body of `GET /threads/:id`: shown at once. */
  readonly initial?: ThreadClientOptions["initial"];
  /** The first message made a thread. Who gives it keeps the id: sessionStorage is then left alone. */
  readonly onThread?: ((threadId: string) => void) | undefined;
  /**
   * What this page does for the agent's browser tools. Each question runs once, in one tab, whatever is rendered;
   * the function is the one of the latest render. Its result is the answer; what it throws is told to the model.
   */
  readonly tools?: ThreadClientOptions<Agent>["tools"];
}

/** What `useToolRun` returns: the thread as it is, and what a person can do. */
export interface UseToolRun<Agent = RegisteredAgent>
  extends Omit<ThreadSnapshot<Step<Agent>>, "id">,
    TypedActions<Agent> {
  /** Leaves this thread as it is and starts a fresh one. */
  reset(): void;
}

/** Each gets the input of its own tool: the server validated it. */
type Offered = ReturnType<Parameters<ThreadClient["offerTools"]>[0]>;

interface Held {
  readonly client: ThreadClient;
  readonly endpoint: string;
  readonly wanted: string | undefined;
}

/**
 * A thread and its run, live: one subscription to one store that folds the server's events outside React.
 * Actions are the same functions for as long as the thread is the same.
 */
export function useToolRun<Agent = RegisteredAgent>(options: UseToolRunOptions<Agent> = {}): UseToolRun<Agent> {
  const { endpoint = "/api/toolrun", initial, onThread } = options;
  const given = options.threadId ?? (initial && ("thread" in initial ? initial.thread.id : initial.id));
  const isStored = given === undefined && !onThread;
  const stored = useSyncExternalStore(onStoredThread, () => (isStored ? storedThread(endpoint) : undefined), nothing);
  const wanted = isStored ? stored : given;

  function make(threadId: string | undefined): ThreadClient {
    const client: ThreadClient = createThreadClient({
      endpoint,
      threadId,
      initial: threadId === undefined ? undefined : initial,
      fetch: (input, init) => (wireOf(client).fetch ?? globalThis.fetch)(input, init),
      headers: () => {
        const { headers } = wireOf(client);
        return typeof headers === "function" ? headers() : (headers ?? {});
      },
      onThread: () => keepClient(endpoint, client),
    });
    setWire(client, options);
    return client;
  }
  function hold(): Held {
    const isOwn = !isStored && wanted === undefined; // a thread to come is shared through storage only
    return { endpoint, wanted, client: isOwn ? make(wanted) : clientFor(endpoint, wanted, () => make(wanted)) };
  }

  const [held, setHeld] = useState(hold);
  let { client } = held;
  if (held.endpoint !== endpoint || held.wanted !== wanted) {
    const isSame = held.endpoint === endpoint && client.threadId === wanted;
    const next = isSame ? { ...held, wanted } : hold();
    ({ client } = next);
    setHeld(next);
  }

  const latest = useRef(options);
  // Before anybody can press a button of this render: React 18 runs other effects later.
  useInsertionEffect(() => {
    latest.current = options;
    setWire(client, options);
  });

  const snapshot = useSyncExternalStore(client.subscribe, client.getSnapshot, client.getServerSnapshot);
  const { threadId, status, title, pending, connection } = snapshot;
  const isRemoved = connection.status === "removed";

  useSWR(threadId === undefined || isRemoved ? null : [endpoint, "thread", threadId], () => client.refresh(), {
    refreshInterval: status === "waiting" ? POLL_WAITING_MS : 0,
    revalidateOnReconnect: false,
    shouldRetryOnError: false,
  });

  useEffect(() => {
    if (isRemoved && isStored) storeThread(endpoint, undefined);
  }, [isRemoved, isStored, endpoint]);

  useEffect(() => {
    if (threadId !== undefined && threadId !== wanted) latest.current.onThread?.(threadId);
  }, [threadId, wanted]);

  // Offers, and starts nothing: the client runs them when the thread asks. Names that change are offered anew.
  const names = Object.keys(options.tools ?? {}).join();
  useEffect(() => {
    if (names === "") return;
    return client.offerTools(() => latest.current.tools as Offered);
  }, [client, names]);

  const { mutate } = useSWRConfig();
  const shown = useRef("");
  useEffect(() => {
    const line = JSON.stringify([threadId, status, title, pending.length, isRemoved]);
    if (shown.current !== "" && shown.current !== line) void mutate(threadsKey(endpoint));
    shown.current = line;
  }, [mutate, endpoint, threadId, status, title, pending.length, isRemoved]);

  const renew = useRef(() => {});
  useEffect(() => {
    renew.current = () => {
      const fresh = make(undefined);
      if (isStored) renewClient(endpoint, fresh);
      setHeld({ endpoint, wanted, client: fresh });
    };
  });
  const [reset] = useState(() => () => renew.current());

  return useMemo(() => {
    const { subscribe, getSnapshot, getServerSnapshot, offerTools, close, ...actions } = client;
    const run = { ...actions, ...snapshot, reset };
    return run as unknown as UseToolRun<Agent>; // the steps are those of the agent behind the endpoint
  }, [client, snapshot, reset]);
}

function nothing(): undefined {
  return undefined;
}
