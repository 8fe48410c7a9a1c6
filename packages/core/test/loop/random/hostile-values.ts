/** Values that an app's code may return or throw, by name. Made anew each time: some change when they are read. */
const makers: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  text: () => "fine",
  number: () => 42,
  list: () => [1, [2, { deep: [] }], null],
  object: () => ({ ok: true, amount: 1 }),
  "not a number": () => Number.NaN,
  infinity: () => ({ value: Number.POSITIVE_INFINITY }),
  bigint: () => ({ id: 9_007_199_254_740_993n }),
  symbol: () => Symbol("s"),
  function: () => () => "never",
  date: () => new Date(0),
  "bad date": () => ({ at: new Date(Number.NaN) }),
  map: () => new Map([["a", 1]]),
  "half character": () => "half \ud83d and \udc00 more",
  "half in a list": () => ["\ud83d", { "\udfff": "\\ud83d" }],
  proto: () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{}}}'),
  circle: () => {
    const circle: Record<string, unknown> = { name: "circle" };
    circle.self = circle;
    return circle;
  },
  deep: () => {
    let value: unknown = "bottom";
    for (let level = 0; level < 3_000; level++) value = [value];
    return value;
  },
  "throwing getter": () => ({
    get broken() {
      throw new Error("planned: this getter throws");
    },
  }),
  "throwing toJSON": () => ({
    toJSON() {
      throw new Error("planned: this toJSON throws");
    },
  }),
  "lying toJSON": () => ({ toJSON: () => undefined }),
  proxy: () =>
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error("planned: this proxy throws");
        },
        get() {
          throw new Error("planned: this proxy throws");
        },
        has() {
          throw new Error("planned: this proxy throws");
        },
        getPrototypeOf() {
          throw new Error("planned: this proxy throws");
        },
      },
    ),
  "revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  long: () => "x".repeat(600_000),
  error: () => new Error("planned: an error"),
  "error without words": () => new Error(""),
  "error that cannot be read": () =>
    Object.defineProperty(new Error("planned"), "message", {
      get() {
        throw new Error("planned: this message throws");
      },
    }),
  "thenable that throws": () => ({
    // biome-ignore lint/suspicious/noThenProperty: what a broken library hands out
    then() {
      throw new Error("planned: this thenable throws");
    },
  }),
  "thenable twice": () => ({
    // biome-ignore lint/suspicious/noThenProperty: as above
    then(resolve: (value: unknown) => void) {
      resolve("first");
      resolve("second");
    },
  }),
};

export const VALUE_NAMES: readonly string[] = Object.keys(makers);

/** Those that keep an attempt from ending sooner than they say, and cost nothing. */
export const CHEAP_VALUES: readonly string[] = VALUE_NAMES.filter((name) => name !== "long" && name !== "deep");

export function hostileValue(name: string): unknown {
  return makers[name]?.();
}
