import type { Connect, handle, StreamEnd, StreamListener } from "./connect.ts";

/** A leader that is asked and says nothing for this long is frozen: its place is taken. */
const ANSWER_WITHIN_MS = 3_000;
/** Others hear at most this often that the server was heard. */
const BEAT_MS = 1_000;
/** The last events of a leader may come a little after its lock. */
const LAST_WORDS_MS = 50;
/** What the leader keeps for tabs that come later; older ones read the thread again. */
const KEPT_EVENTS = 1_000;
const KEPT_LENGTH = 1_000_000;

/** Handed in: what this file shared with others by importing it would be cut out of them into a file of its own. */
export interface OwnStream {
  readonly connect: Connect;
  readonly handle: typeof handle;
}

/** One stream for all tabs of a browser that show the same. */
export interface SharedStream {
  readonly name: string;
  readonly connect: Connect;
  /** This tab wants no stream now: if it led, another may. */
  leave(): void;
}

/** What tabs tell each other. Events are what the server sent, and are checked as if it had. */
type Note =
  /** A tab asks for what comes after `seq`. */
  | { readonly type: "ask"; readonly tab: string; readonly seq: number }
  /** The leader is there, and what was asked for came before this; or it does not have it any more. */
  | { readonly type: "here" | "gap"; readonly tab: string }
  | { readonly type: "event"; readonly event?: string | undefined; readonly data: string }
  /** The leader hears the server · has lost it. */
  | { readonly type: "beat" | "lost" };

/** What a leader says. */
const KNOWN: ReadonlySet<string | undefined> = new Set(["here", "gap", "event", "beat", "lost"]);

interface Kept {
  readonly note: Note & { readonly type: "event" };
  /** The seq the leader was at with it. */
  readonly to: number;
}

/**
 * The tab that holds the lock of this name leads: it streams, and passes on what it takes. The others listen, and wait
 * for the lock: it is theirs when the leader rests, is closed or dies, and taken from it when it does not answer.
 */
export function shareStream(name: string, seq: () => number, own: OwnStream): SharedStream {
  const tab = `${Math.random()}`;
  let channel: BroadcastChannel | undefined;
  let free: (() => void) | undefined; // gives the lock back; there while this tab leads
  let leading: AbortController | undefined;
  let isAlone = false;
  let state: "opening" | "live" | "lost" = "opening";
  let kept: Kept[] = [];
  let keptFrom = 0;
  let keptLength = 0;
  let onNote = (_note: Note | undefined): void => {}; // anything at all: a page of another version may speak
  let onLock = (): void => {};

  const say = (note: Note): void => channel?.postMessage(note);

  function open(): void {
    if (channel) return;
    channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => {
      if (data?.type !== "ask") onNote(data);
      else if (free) answer(data);
    };
  }

  /** True when the lock is had, false when it is not: another tab has it, or the signal aborted. */
  function claim(options: LockOptions): Promise<boolean> {
    return new Promise((resolve) => {
      let mine: (() => void) | undefined;
      const held = async (lock: Lock | null): Promise<void> => {
        if (!lock || !channel || free) return;
        const end = new Promise<void>((done) => {
          mine = done;
        });
        free = mine;
        kept = [];
        keptFrom = seq();
        keptLength = 0;
        state = "opening";
        resolve(true);
        onLock();
        await end;
      };
      const over = (error?: unknown): void => {
        isAlone ||= (error as Error | undefined)?.name === "SecurityError"; // a page without an origin of its own
        resolve(false);
        if (!mine || free !== mine) return;
        free = undefined; // it was taken from this page, which was frozen and goes on now
        leading?.abort();
      };
      navigator.locks.request(name, options, held).then(() => over(), over);
    });
  }

  async function lead(...[wire, path, signal, listener]: Parameters<Connect>): Promise<StreamEnd> {
    const stream = new AbortController();
    leading = stream;
    const stop = (): void => stream.abort();
    signal.addEventListener("abort", stop);
    let beatAt = 0;
    const onBytes = (): void => {
      state = "live";
      listener.onBytes();
      if (Date.now() - beatAt < BEAT_MS) return;
      beatAt = Date.now();
      say({ type: "beat" });
    };
    const end = await own.connect(wire, path, stream.signal, { ...listener, onBytes }, keep);
    signal.removeEventListener("abort", stop);
    leading = undefined;
    if (!free || signal.aborted) return "lost";
    state = end === "lost" || typeof end === "object" ? "lost" : "opening";
    if (state === "lost") say({ type: "lost" });
    return end;
  }

  function keep(event: string | undefined, data: string): void {
    const note = { type: "event", event, data } as const;
    say(note);
    kept.push({ note, to: seq() });
    keptLength += data.length;
    while (kept.length > KEPT_EVENTS || keptLength > KEPT_LENGTH) {
      const oldest = kept.shift();
      keptFrom = oldest?.to ?? keptFrom;
      keptLength -= oldest?.note.data.length ?? 0;
    }
  }

  function answer({ tab: asker, seq: from }: Note & { readonly type: "ask" }): void {
    if (state === "lost") return void say({ type: "lost" });
    // What this tab read besides its stream is in no event of it.
    if (from < keptFrom) return void say({ type: "gap", tab: asker });
    for (const { note, to } of kept) if (to > from) say(note);
    say({ type: "here", tab: asker });
    if (state === "live") say({ type: "beat" });
  }

  function follow(...[wire, path, signal, listener]: Parameters<Connect>): Promise<StreamEnd> {
    return new Promise((resolve) => {
      const over = new AbortController();
      const end = (how: StreamEnd | Promise<StreamEnd>): void => {
        over.abort();
        clearTimeout(timer);
        onNote = () => {};
        onLock = () => {};
        resolve(how);
      };
      let timer = setTimeout(() => void claim({ steal: true }), ANSWER_WITHIN_MS * (1 + Math.random()));
      signal.addEventListener("abort", () => end("lost"), { signal: over.signal });
      onLock = () => {
        clearTimeout(timer);
        say({ type: "here", tab: "" }); // nobody else need take it
        timer = setTimeout(() => end(free ? lead(wire, path, signal, listener) : "lost"), LAST_WORDS_MS);
      };
      onNote = (note) => {
        if (!note || !KNOWN.has(note.type)) return;
        if (!free) clearTimeout(timer);
        const how = hear(note, listener);
        if (how) end(how);
      };
      void claim({ signal: over.signal });
      say({ type: "ask", tab, seq: seq() });
    });
  }

  /** Takes what the leader says; what it answers ends this tab's following. */
  function hear(note: Note, listener: StreamListener): StreamEnd | undefined {
    if (note.type === "lost") return "lost";
    if (note.type === "gap") return note.tab === tab ? "gap" : undefined;
    if (note.type === "here") return undefined;
    listener.onBytes();
    if (note.type !== "event" || typeof note.data !== "string") return undefined;
    return own.handle(note.event, note.data, listener) ?? (listener.isOver() ? "closed" : undefined);
  }

  return {
    name,
    async connect(...stream) {
      open();
      if (!free) await claim({ ifAvailable: true });
      if (stream[2].aborted) return "lost";
      if (isAlone) return own.connect(...stream);
      return free ? lead(...stream) : follow(...stream);
    },
    leave() {
      channel?.close();
      channel = undefined;
      free?.();
      free = undefined;
    },
  };
}
