interface Asked {
  readonly ifAvailable?: boolean;
  readonly signal?: AbortSignal;
  readonly steal?: boolean;
}
type Task = (lock: object | null) => unknown;

/** The Web Locks of one origin: exclusive, first come first served, and they can be stolen. */
export interface FakeLocks {
  request(name: string, options: Asked, task: Task): Promise<unknown>;
  readonly held: ReadonlySet<string>;
  /** When the next holder hears that its lock was stolen: at once, or when its page is no longer frozen. */
  thaw: Promise<void> | undefined;
}

export function createFakeLocks(): FakeLocks {
  const held = new Map<string, (reason: Error) => void>(); // how to take it from its holder
  const queues = new Map<string, (() => void)[]>();

  async function holding(name: string, task: Task): Promise<unknown> {
    let take = (_reason: Error): void => {};
    const taken = new Promise<never>((_, reject) => {
      take = reject;
    });
    held.set(name, take);
    try {
      return await Promise.race([task({ name }), taken]);
    } finally {
      if (held.get(name) === take) {
        const next = queues.get(name)?.shift();
        if (next) next();
        else held.delete(name);
      }
    }
  }

  const locks: FakeLocks = {
    thaw: undefined,
    get held() {
      return new Set(held.keys());
    },
    async request(name, { ifAvailable, signal, steal }, task) {
      await Promise.resolve(); // a browser answers later, too
      if (steal) {
        const take = held.get(name);
        const stolen = holding(name, task);
        const { thaw } = locks;
        locks.thaw = undefined;
        void Promise.resolve(thaw).then(() => take?.(new DOMException("The lock was stolen.", "AbortError")));
        return stolen;
      }
      if (!held.has(name)) return holding(name, task);
      if (ifAvailable) return task(null);
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      await new Promise<void>((resolve, reject) => {
        queue.push(resolve);
        signal?.addEventListener("abort", () => {
          const at = queue.indexOf(resolve);
          if (at >= 0) queue.splice(at, 1);
          reject(signal.reason);
        });
      });
      return holding(name, task);
    },
  };
  return locks;
}
