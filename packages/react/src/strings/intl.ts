/** A word for each form of plural that a language has; `#` is the number. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string }>;

/** Chooses the form that goes with a number, and writes the number as the language does. */
export function pluralIn(locale: string): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  const write = numberIn(locale);
  return (count, forms) => (forms[rules.select(count)] ?? forms.other).replace("#", write(count));
}

/** Writes numbers as the language does. */
export function numberIn(locale: string): (value: number, digits?: number) => string {
  const format = new Intl.NumberFormat(locale);
  return (value, digits) =>
    digits === undefined
      ? format.format(value)
      : value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A moment, with its day unless that is today. */
export function momentIn(locale: string): (at: number) => string {
  return (at) => {
    const date = new Date(at);
    const isToday = date.toDateString() === new Date().toDateString();
    const on = isToday ? {} : ({ day: "numeric", month: "short" } as const);
    return date.toLocaleString(locale, { ...on, hour: "2-digit", minute: "2-digit" });
  };
}

export interface Spans {
  readonly span: (ms: number) => string;
  readonly seconds: (ms: number) => string;
  readonly minutes: (ms: number) => string;
  readonly period: (ms: number) => string;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Lengths of time, each unit with its sign; `days` has a plural of its own. */
export function spansIn(
  locale: string,
  unit: { readonly s: string; readonly min: string; readonly h: string },
  days: (count: number) => string,
): Spans {
  const write = numberIn(locale);
  const whole = (ms: number): string => {
    const seconds = Math.round(Math.max(ms, 0) / 1000);
    const [min, h] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
    if (min === 0) return `${write(seconds)} ${unit.s}`;
    if (h === 0) return `${write(min)} ${unit.min} ${write(seconds % 60)} ${unit.s}`;
    return `${write(h)} ${unit.h} ${write(min % 60)} ${unit.min}`;
  };
  return {
    span: (ms) => (ms < 9_950 ? `${write(Math.max(ms, 0) / 1000, 1)} ${unit.s}` : whole(ms)),
    seconds: whole,
    minutes: (ms) => `${write(Math.ceil(ms / minute))} ${unit.min}`,
    period: (ms) => {
      if (ms > day && ms % day === 0) return days(ms / day);
      if (ms % hour === 0) return `${write(ms / hour)} ${unit.h}`;
      return ms % minute === 0 ? `${write(ms / minute)} ${unit.min}` : `${write(Math.ceil(ms / 1000))} ${unit.s}`;
    },
  };
}
