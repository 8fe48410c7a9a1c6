import type { HandlerCase } from "./handler-case.ts";
import { contextFor } from "./handler-case.ts";
import { decisionCases } from "./handler-decision-cases.ts";
import { guardCases } from "./handler-guard-cases.ts";
import { messageCases } from "./handler-message-cases.ts";
import { streamCases } from "./handler-stream-cases.ts";
import type { TestFunctions } from "./store-conformance.ts";

/** An endpoint made of `handlerUnderTest()`, wherever it is mounted. */
export interface MountedHandler {
  /** Its address, which the server may believe to be its own: `http://127.0.0.1:3000/api/toolrun`. */
  readonly url: string;
  /** Leave it out for a server that listens at `url`. @defaultValue the runtime's own fetch */
  fetch?(request: Request): Promise<Response>;
  close(): Promise<void> | void;
}

export interface HandlerConformanceOptions {
  /**
   * How long the endpoint may take to answer, or to show something.
   * @defaultValue 10000
   */
  readonly patienceMs?: number | undefined;
}

/** Every rule, for runners of your own. */
export const handlerCases: readonly HandlerCase[] = [...messageCases, ...streamCases, ...decisionCases, ...guardCases];

/**
 * Declares the tests that an endpoint passes on every runtime and behind every framework or proxy. They speak HTTP
 * only, each as a user of its own: all may talk to one server, at once.
 */
export function handlerConformance(
  name: string,
  makeHandler: () => Promise<MountedHandler>,
  { describe, it }: TestFunctions,
  options: HandlerConformanceOptions = {},
): void {
  describe(`endpoint: ${name}`, () => {
    for (const each of handlerCases) it(each.name, () => runHandlerCase(each, makeHandler, options), 60_000);
  });
}

/** Runs one case; rejects when the rule is broken. */
export async function runHandlerCase(
  { run }: HandlerCase,
  makeHandler: () => Promise<MountedHandler>,
  { patienceMs = 10_000 }: HandlerConformanceOptions = {},
): Promise<void> {
  const made = await makeHandler();
  const control = new AbortController();
  try {
    await run(
      contextFor({
        url: made.url,
        patienceMs,
        signal: control.signal,
        fetch: (request) => (made.fetch ? made.fetch(request) : fetch(request)),
      }),
    );
  } finally {
    control.abort();
    await made.close();
  }
}
