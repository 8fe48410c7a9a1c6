/** An iterator whose steps run one after the other, however they are asked for: each goes on where the one before ended. */
export function oneByOne<Item>(
  step: () => Promise<IteratorResult<Item>>,
  end: () => void,
): AsyncIterableIterator<Item> {
  let last: Promise<unknown> = Promise.resolve();
  return {
    next() {
      const next = last.then(step, step);
      last = next;
      return next;
    },
    async return() {
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
