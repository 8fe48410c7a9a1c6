/** Only a text with such a run of digits or such an exponent can hold a number that a double cannot. */
const SUSPICIOUS = /\d{16}|\d[eE]\+?\d{3}/;

/** Strings, to be passed over, and numbers with their fraction and exponent. It never goes back over a text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d+(\.\d+)?([eE][+-]?\d+)?/gs;

/**
 * The first number in a JSON text that `JSON.parse` would silently turn into another one: an integer with more digits
 * than a double holds, or anything too large for it. Ids have 19 digits these days, and a rounded id is somebody
 * else's. Fractions and exponents are approximate by their form and pass, and so does an integer that comes back with
 * the same digits, as every number does that JavaScript wrote. Undefined when every number is kept.
 */
export function inexactNumber(text: string): string | undefined {
  if (!SUSPICIOUS.test(text)) return undefined;
  for (const [literal, fraction, exponent] of text.matchAll(TOKEN)) {
    if (!literal.startsWith('"') && isInexact(literal, fraction, exponent)) return literal;
  }
  return undefined;
}

/** The same text with such numbers as strings: rounded, they would name something else. */
export function quoteInexact(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text.replace(TOKEN, (literal, fraction?: string, exponent?: string) =>
    !literal.startsWith('"') && isInexact(literal, fraction, exponent) ? `"${literal}"` : literal,
  );
}

/** What the model is told about it. */
export function inexactMessage(literal: string): string {
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}…` : literal;
  return `The number ${shown} cannot be held exactly: send it as a string.`;
}

function isInexact(literal: string, fraction: string | undefined, exponent: string | undefined): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return true;
  if (Number.isSafeInteger(value) || exponent !== undefined) return false;
  if (fraction !== undefined && /[1-9]/.test(fraction)) return false;
  const whole = fraction === undefined ? literal : literal.slice(0, -fraction.length);
  return String(value) !== whole && BigInt(whole) !== BigInt(value);
}
