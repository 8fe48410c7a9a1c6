import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/model/model.ts";
import { retryAfterMs, toModelError } from "../../src/model/model-failure.ts";

describe("Retry-After", () => {
  test.each([
    ["0", 0],
    ["1", 1000],
    ["007", 7000],
    ["120", 120_000],
    ["2147483647", 2_147_483_647_000],
    ["2147483648", undefined],
    ["99999999999999999999", undefined],
    ["", undefined],
    [" 5", undefined],
    ["1.5", undefined],
    ["-1", undefined],
    ["+5", undefined],
    ["٣", undefined],
    ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
    [undefined, undefined],
  ])("%j is %s ms", (header, ms) => {
    expect(retryAfterMs(header)).toBe(ms);
  });
});

describe("a failure is worth another attempt", () => {
  const http = (statusCode: number, type = "x", more = {}) =>
    Object.assign(new Error("failed"), {
      name: "AI_APICallError",
      statusCode,
      data: { error: { type, message: "m" } },
      ...more,
    });
  test.each<[string, unknown, boolean]>([
    ["408", http(408), true],
    ["409", http(409), true],
    ["429", http(429), true],
    ["500", http(500), true],
    ["503", http(503), true],
    ["529", http(529), true],
    ["400", http(400), false],
    ["401", http(401), false],
    ["403", http(403), false],
    ["404", http(404), false],
    ["413", http(413), false],
    ["422", http(422), false],
    ["409 with a kind", http(409, "invalid_request_error"), true],
    ["429 without money", http(429, "insufficient_quota"), false],
    ["500 made of a mistake in a stream", http(500, "invalid_request_error"), false],
    ["500 whose body is text", { statusCode: 500, responseBody: '{"type":"overloaded_error","message":"m"}' }, true],
    ["200 that broke off", http(200), true],
    ["no network", Object.assign(new TypeError("fetch failed"), { cause: new Error("ECONNREFUSED") }), true],
    ["a socket that closed", new TypeError("terminated"), true],
    ["an in-stream overload", { type: "overloaded_error", message: "m" }, true],
    ["an in-stream rate limit", { type: "tokens", code: "rate_limit_exceeded", message: "m" }, true],
    ["an in-stream mistake", { error: { type: "invalid_request_error", message: "m" } }, false],
    ["a context that is too long", { code: "context_length_exceeded", message: "m" }, false],
    ["a status as code", { code: 429, message: "m" }, true],
    ["a text", "socket hang up", true],
    ["a missing key", Object.assign(new Error("no key"), { name: "AI_LoadAPIKeyError" }), false],
    ["a part it cannot send", Object.assign(new Error("no"), { name: "AI_UnsupportedFunctionalityError" }), false],
    ["nothing", undefined, true],
  ])("%s: %#", (_, error, retryable) => {
    const made = toModelError(error);
    expect(made).toBeInstanceOf(ModelError);
    expect({ retryable: made.retryable, message: made.message !== "" }).toEqual({ retryable, message: true });
  });

  test("the header of an HTTP error is honoured", () => {
    expect(toModelError(http(429, "x", { responseHeaders: { "retry-after": "3" } })).retryAfterMs).toBe(3000);
    expect(toModelError(http(429, "x", { responseHeaders: { "Retry-After": "0" } })).retryAfterMs).toBe(0);
  });

  test("a ModelError stays itself", () => {
    const error = new ModelError("m", { retryable: false });
    expect(toModelError(error)).toBe(error);
  });
});
