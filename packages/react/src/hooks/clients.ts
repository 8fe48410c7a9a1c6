import type { ThreadClient, WireOptions } from "toolrun";

/**
 * The clients of this page, one per endpoint and thread, so that a chat and a badge share one stream.
 * Weak: a client lives as long as a component holds it, so a render that React throws away leaks nothing.
 */
const clients = new Map<string, WeakRef<ThreadClient>>();
const listeners = new Set<() => void>();

/** How each client is to reach its server. Not kept in a component: the one that made a client may never mount. */
const wires = new WeakMap<ThreadClient, WireOptions>();

/** What the latest renders of the components that hold the client said; a badge that says nothing changes nothing. */
export function wireOf(client: ThreadClient): WireOptions {
  return wires.get(client) ?? {};
}

export function setWire(client: ThreadClient, options: WireOptions): void {
  wires.set(client, { ...wireOf(client), ...options });
}

/** The page's client of a thread, made when there is none. Without an id: of the thread to come. */
export function clientFor(endpoint: string, threadId: string | undefined, make: () => ThreadClient): ThreadClient {
  if (typeof window === "undefined") return make(); // a server must not share between its users
  const key = keyOf(endpoint, threadId);
  const known = clients.get(key)?.deref();
  if (known && known.threadId === threadId && known.getSnapshot().connection.status !== "removed") return known;
  const client = make();
  clients.set(key, new WeakRef(client));
  return client;
}

/** The client that is now the one for the thread to come; the one before it may still get its thread. */
export function renewClient(endpoint: string, client: ThreadClient): void {
  clients.set(keyOf(endpoint), new WeakRef(client));
  storeThread(endpoint, undefined);
}

/** A client got its thread: whoever asks for that thread gets this client. */
export function keepClient(endpoint: string, client: ThreadClient): void {
  clients.set(keyOf(endpoint, client.threadId), new WeakRef(client));
  // Not after a reset that came while the first message was on its way.
  if (clients.get(keyOf(endpoint))?.deref() === client) storeThread(endpoint, client.threadId);
}

/** The thread this tab had open; undefined on servers and where storage is blocked. */
export function storedThread(endpoint: string): string | undefined {
  try {
    return sessionStorage.getItem(keyOf(endpoint)) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Remembers the open thread for the next reload of this tab, or forgets it. */
export function storeThread(endpoint: string, threadId: string | undefined): void {
  try {
    if (threadId === undefined) sessionStorage.removeItem(keyOf(endpoint));
    else sessionStorage.setItem(keyOf(endpoint), threadId);
  } catch {
    // Storage is blocked: a reload starts afresh.
  }
  for (const listener of [...listeners]) listener();
}

/** Subscribes to changes of the stored thread made on this page. */
export function onStoredThread(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

function keyOf(endpoint: string, threadId = ""): string {
  return `toolrun ${endpoint} ${threadId}`;
}
