import { en, type Strings } from "../strings.ts";

const plain = "AaBbCcDdEeGgHhIiJjKkLlNnOoRrSsTtUuWwYyZz";
const accented = "ÅåßƀÇçĐđÉéĜĝĤĥÎîĴĵĶķĻļÑñÖöŔŕŠšŢţÛûŴŵÝýŽž";

/** Every word of a text in accents, in brackets and a third longer. */
function disguise(text: string): string {
  if (text === "") return text;
  const letters = [...text].map((letter) => accented[plain.indexOf(letter)] ?? letter);
  return `⟦${letters.join("")}${"·".repeat(Math.ceil(text.length / 3))}⟧`;
}

function disguised(value: unknown): unknown {
  if (typeof value === "string") return disguise(value);
  if (typeof value === "function") return (...given: readonly unknown[]) => disguised(value(...given));
  if (Array.isArray(value)) return value.map(disguised);
  return Object.fromEntries(Object.entries(value as object).map(([name, word]) => [name, disguised(word)])); // words and objects of words are all there is
}

/** No language, for tests: what is not in ⟦brackets⟧ comes from the app or the model; what does not fit will not in others. */
export const pseudo: Strings = disguised(en) as Strings; // each word in the place of its own
