interface Asked {
  readonly ifAvailable?: boolean;
  readonly signal?: AbortSignal;
}
type Task = (lock: object | null) => unknown;

/** The Web Locks of one origin: exclusive, first come first served. */
export interface FakeLocks {
  request(name: string, options: Asked, task: Task): Promise<unknown>;
  readonly held: ReadonlySet<string>;
}

export function createFakeLocks(): FakeLocks {
  const held = new Set<string>();
  const queues = new Map<string, (() => void)[]>();

  async function holding(name: string, task: Task): Promise<unknown> {
    try {
      return await task({ name });
    } finally {
      const next = queues.get(name)?.shift();
      if (next) next();
      else held.delete(name);
    }
  }

  return {
    held,
    async request(name, { ifAvailable, signal }, task) {
      await Promise.resolve(); // a browser answers later, too
      if (!held.has(name)) {
        held.add(name);
        return holding(name, task);
      }
      if (ifAvailable) return task(null);
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      await new Promise<void>((resolve, reject) => {
        queue.push(resolve);
        signal?.addEventListener("abort", () => {
          queue.splice(queue.indexOf(resolve), 1);
          reject(signal.reason);
        });
      });
      return holding(name, task);
    },
  };
}
