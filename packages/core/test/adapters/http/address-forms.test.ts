import { expect, test } from "vitest";
import { follow } from "../../../src/adapters/http-follow.ts";
import { urlTemplate } from "../../../src/adapters/http-template.ts";

test.each([
  ["/orders/{id}", "%2e%2e/%ff"],
  ["/orders/{id}", "%2e%2e%2fadmin%2f%ff"],
  ["/orders/{id}", "..;/admin"],
  ["/a%FF/{id}", "../x"],
])("[S15] no value leads up, whoever decodes it how often: %s %s", (path, id) => {
  expect(() => urlTemplate(`https://api.example.com${path}`).fill({ id })).toThrow("does not fit into the address");
});

test.each(["1042", "a.b", "50%", "x;y", "..."])("positive control: %j is a value like any other", (id) => {
  expect(decodeURIComponent(urlTemplate("https://api.example.com/orders/{id}").fill({ id }).pathname)).toBe(
    `/orders/${id}`,
  );
});

test("[S15] who was led outside is not led back in", async () => {
  const asked: string[] = [];
  const to: Readonly<Record<string, string>> = {
    "http://10.0.0.5/x": "https://evil.example.com/hop",
    "https://evil.example.com/hop": "http://10.0.0.5/admin",
  };
  const request = { method: "GET", url: new URL("http://10.0.0.5/x"), headers: new Headers(), body: undefined };
  const reach = { privateHost: "10.0.0.5", allowHttp: true, hosts: undefined } as unknown as Parameters<
    typeof follow
  >[1];
  const answer = follow(request as Parameters<typeof follow>[0], reach, async ({ url }) => {
    asked.push(url.href);
    const location = to[url.href];
    return location ? new Response(null, { status: 302, headers: { location } }) : new Response("secret");
  });
  await expect(answer).rejects.toThrow();
  expect(asked).toEqual(["http://10.0.0.5/x", "https://evil.example.com/hop"]);
});
