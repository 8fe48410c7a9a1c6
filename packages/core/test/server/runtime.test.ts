import { afterEach, describe, expect, it, vi } from "vitest";
import { findRuntime } from "../../src/server/runtime.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

describe("what the platform lets us do", () => {
  it.each([
    ["development", false],
    ["production", true],
    [undefined, true],
  ])("NODE_ENV %s is production: %s", (mode, production) => {
    vi.stubEnv("NODE_ENV", mode);
    expect(findRuntime().production).toBe(production);
  });

  it("is production where the environment may not be read, as on Deno without --allow-env", () => {
    const get = (): never => {
      throw new Error("Requires env access");
    };
    vi.stubGlobal("process", { env: new Proxy({}, { get }) });
    expect(findRuntime()).toMatchObject({ production: true, livesOn: true, waitUntil: undefined });
  });

  it.each(["VERCEL", "AWS_LAMBDA_FUNCTION_NAME", "NETLIFY", "CF_PAGES"])("does not live on with %s", (name) => {
    expect(findRuntime().livesOn).toBe(true);
    vi.stubEnv(name, "1");
    expect(findRuntime().livesOn).toBe(false);
  });

  it("does not live on in a Worker", () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    expect(findRuntime().livesOn).toBe(false);
  });
});
