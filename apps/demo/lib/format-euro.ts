const number = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `4990` → `49.90 €`: the same words in the table, in errors and in what the assistant reads. */
export function formatEuro(cents: number): string {
  return `${number.format(cents / 100)} €`;
}
