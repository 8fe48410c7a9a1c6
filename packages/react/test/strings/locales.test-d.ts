import { ar } from "../../src/strings/ar.ts";
import { de } from "../../src/strings/de.ts";
import type { Strings } from "../../src/strings.ts";

const { send: _send, ...less } = de;
// @ts-expect-error -- a word that is missing does not compile
export const missing: Strings = less;

// @ts-expect-error -- a sentence is no word
export const wrong: Strings = { ...de, pending: "Schritte" };

// @ts-expect-error -- a limit that is missing does not compile
export const shorter: Strings = { ...ar, limits: { turns: "" } };
