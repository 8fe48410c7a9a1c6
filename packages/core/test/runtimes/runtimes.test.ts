import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handlerConformance } from "../../src/testing/handler-conformance.ts";
import type { RunningRuntime } from "./start-runtime.ts";
import { isInstalled, runtimes, startRuntime } from "./start-runtime.ts";

/** A notice about a default of its own, which says that what we hear as "the reader left" also comes at the end. */
const DENO_NOTICE = /^Deno\.serve: request\.signal aborts on successful responses .*\n/m;

describe.each(runtimes.filter(isInstalled).map((runtime) => [runtime.name, runtime] as const))(
  "%s",
  (name, runtime) => {
    let running: RunningRuntime;
    beforeAll(async () => {
      running = await startRuntime(runtime);
    }, 30_000);
    afterAll(() => running?.close());

    handlerConformance(name, async () => ({ url: running.url, close: () => undefined }), { describe, it });

    it("has nothing to complain about", () => {
      expect(running.complaints().replace(DENO_NOTICE, "")).toBe("");
    });
  },
);
