import type { OrderStatus } from "./shop-schemas.ts";

export interface SeedCustomer {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly city: string;
}

export interface SeedOrder {
  readonly number: number;
  readonly customerId: number;
  readonly items: string;
  readonly totalCents: number;
  readonly status: OrderStatus;
  readonly placedAt: Date;
  /** Amounts charged; an empty list was never charged. */
  readonly paymentsCents: readonly number[];
  readonly refund?: { readonly amountCents: number; readonly reason: string } | undefined;
}

const newest = 1044;
const recentCount = 212;
const oldCount = 8;
const hourMs = 3_600_000;

/**
 * The shop as it is on a fresh morning: 220 orders, newest first, the same on every machine but for their dates, which
 * count back from `today`. 212 orders of the last months, then eight that are over two years old.
 * Order 1042 is Mia Chen's, and she was charged twice.
 */
export function seedOrders(today: Date): { customers: readonly SeedCustomer[]; orders: readonly SeedOrder[] } {
  const random = mulberry32(1042);
  const customers = seedCustomers(random);
  const orders: SeedOrder[] = [];
  let placedAt = Math.floor(today.getTime() / (24 * hourMs)) * 24 * hourMs - 2 * hourMs;
  for (let index = 0; index < recentCount + oldCount; index++) {
    if (index === recentCount) placedAt -= 500 * 24 * hourMs;
    const customer = pick(customers, random);
    const order = seedOrder(newest - index, index, customer.id, new Date(placedAt), random);
    orders.push({ ...order, ...(order.number === 1042 ? chargedTwice : {}) });
    const gapHours = index < 8 ? 2 + random() * 6 : 12 + random() * 40;
    placedAt -= Math.round((gapHours * hourMs) / 60_000) * 60_000;
  }
  return { customers, orders };
}

const chargedTwice = {
  customerId: 1,
  items: "1 × Linen throw",
  totalCents: 4990,
  paymentsCents: [4990, 4990],
} as const;

/** What the first rows of the table show: one of each kind, so that every status is seen without scrolling. */
const firstStatuses: readonly OrderStatus[] = ["paid", "shipped", "paid", "returned", "shipped", "cancelled"];

function seedOrder(number: number, index: number, customerId: number, placedAt: Date, random: () => number): SeedOrder {
  const lines = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    product: pick(products, random),
    quantity: random() < 0.8 ? 1 : 2 + Math.floor(random() * 3),
  }));
  const totalCents = lines.reduce((sum, line) => sum + line.quantity * line.product.cents, 0);
  const status = firstStatuses[index] ?? laterStatus(index, random);
  const first = lines[0]?.product.cents ?? totalCents;
  const partlyCents = first < totalCents ? first : Math.round(totalCents / 2);
  return {
    number,
    customerId,
    items: lines.map((line) => `${line.quantity} × ${line.product.name}`).join(", "),
    totalCents,
    status,
    placedAt,
    paymentsCents: status === "cancelled" ? [] : [totalCents],
    refund:
      status === "refunded"
        ? { amountCents: totalCents, reason: pick(refundReasons, random) }
        : status === "partly-refunded"
          ? { amountCents: partlyCents, reason: pick(refundReasons, random) }
          : undefined,
  };
}

/** Young orders wait to be sent; older ones are mostly with their customers. */
function laterStatus(index: number, random: () => number): OrderStatus {
  const roll = random();
  if (index < 24) return roll < 0.55 ? "paid" : roll < 0.92 ? "shipped" : "cancelled";
  if (roll < 0.82) return "shipped";
  if (roll < 0.87) return "returned";
  if (roll < 0.92) return "refunded";
  return roll < 0.96 ? "partly-refunded" : "cancelled";
}

function seedCustomers(random: () => number): readonly SeedCustomer[] {
  const names = ["Mia Chen"];
  while (names.length < 72) {
    const name = `${pick(firstNames, random)} ${pick(lastNames, random)}`;
    if (!names.includes(name)) names.push(name);
  }
  return names.map((name, index) => ({ id: index + 1, name, email: emailOf(name), city: pick(cities, random) }));
}

/** `Zoë Núñez` → `zoe.nunez@example.com`. */
function emailOf(name: string): string {
  const plain = name.normalize("NFD").replace(/[^A-Za-z ]/g, "");
  return `${plain.toLowerCase().replaceAll(" ", ".")}@example.com`;
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("Nothing to pick from.");
  return item;
}

/** A small, well-known generator: the same numbers everywhere, which Math.random cannot give. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const words = (text: string): readonly string[] => text.split(", ");

const firstNames = words(
  "Amélie, Anton, Aisha, Ben, Carla, Chiara, Daniel, Elif, Emma, Farid, Fiona, Hanna, Hugo, Ines, Jonas, Kofi, Lea, " +
    "Liam, Lina, Luca, Maren, Mateo, Nadia, Noah, Nora, Omar, Priya, Rosa, Samuel, Sofia, Tomasz, Yuki, Zoë",
);
const lastNames = words(
  "Almeida, Andersson, Bauer, Becker, Costa, Demir, Dubois, Eriksen, Ferrari, García, Haddad, Hoffmann, Ivanova, " +
    "Jansen, Kaya, Keller, Kowalska, Lehmann, Martin, Meyer, Moreau, Nguyen, Novák, Núñez, O'Brien, Okafor, Petrov, " +
    "Rossi, Sato, Schmid, Sharma, Silva, Vogel, Weber, Zimmermann",
);
const cities = words(
  "Amsterdam, Antwerp, Barcelona, Berlin, Bologna, Bordeaux, Copenhagen, Dublin, Ghent, Gothenburg, Graz, Hamburg, " +
    "Kraków, Leipzig, Lisbon, Lyon, Munich, Porto, Prague, Rotterdam, Utrecht, Vienna, Zurich",
);
const refundReasons = words("arrived damaged, sent back, wrong colour, arrived too late, item missing");
const products = [
  { name: "Linen throw", cents: 4990 },
  { name: "Stoneware mug", cents: 1450 },
  { name: "Set of four bowls", cents: 5800 },
  { name: "Oak cutting board", cents: 3900 },
  { name: "Beeswax candles", cents: 1890 },
  { name: "Wool blanket", cents: 11900 },
  { name: "Tea towel", cents: 1200 },
  { name: "Copper kettle", cents: 8950 },
  { name: "Carafe", cents: 2750 },
  { name: "Willow basket", cents: 3450 },
  { name: "Olive wood spoon", cents: 990 },
  { name: "Table lamp", cents: 13900 },
  { name: "Cotton napkins", cents: 2290 },
  { name: "Cast iron pan", cents: 6950 },
];
