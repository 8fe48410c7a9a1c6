import { test as base, expect } from "@playwright/test";
import { ports } from "./ports.ts";

interface Fixtures {
  /** What the browser complained about. A test fails on anything it did not expect. */
  readonly complaints: { expect(pattern: RegExp): void };
}

/** Chromium writes every answer of 400 and above to the console: tests that provoke one name it. */
export const refusedRequest: RegExp = /Failed to load resource: the server responded with a status of 4\d\d/;
export const brokenRequest: RegExp = /Failed to load resource: net::ERR_|status of 50\d/;

/** `test` that also fails on errors in the console, uncaught exceptions and hydration warnings, in all of its tabs. */
export const test = base.extend<Fixtures>({
  baseURL: async ({ browserName: _ }, run, { parallelIndex }) => {
    const port = ports.scripted[parallelIndex];
    if (port === undefined) throw new Error("There are two servers: run with at most two workers.");
    await run(`http://127.0.0.1:${port}`);
  },
  complaints: [
    async ({ context }, run) => {
      const heard: string[] = [];
      const expected: RegExp[] = [];
      context.on("console", (message) => {
        if (message.type() === "error" || /hydrat/i.test(message.text()))
          heard.push(`${message.text()} ${message.location().url}`);
      });
      context.on("weberror", (error) => heard.push(String(error.error())));
      await run({ expect: (pattern) => void expected.push(pattern) });
      expect(heard.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
