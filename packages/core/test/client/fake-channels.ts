/** The BroadcastChannels of one origin; a frozen one neither hears nor speaks. */
export interface FakeChannels {
  readonly BroadcastChannel: new (name: string) => FakeChannel;
  readonly open: readonly FakeChannel[];
  /** How long a message takes; by itself none at all. */
  delayMs: number;
}

export interface FakeChannel {
  readonly name: string;
  isFrozen: boolean;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(data: unknown): void;
  close(): void;
}

export function createFakeChannels(): FakeChannels {
  const open: FakeChannel[] = [];
  class Channel implements FakeChannel {
    readonly name: string;
    isFrozen = false;
    onmessage: FakeChannel["onmessage"] = null;
    constructor(name: string) {
      this.name = name;
      open.push(this);
    }
    postMessage(data: unknown): void {
      if (this.isFrozen) return;
      const copy = structuredClone(data);
      for (const other of open) {
        if (other === this || other.name !== this.name) continue;
        const deliver = (): void => {
          if (open.includes(other) && !other.isFrozen) other.onmessage?.({ data: copy });
        };
        if (channels.delayMs > 0) setTimeout(deliver, channels.delayMs);
        else queueMicrotask(deliver);
      }
    }
    close(): void {
      open.splice(open.indexOf(this), 1);
    }
  }
  const channels: FakeChannels = { BroadcastChannel: Channel, open, delayMs: 0 };
  return channels;
}
