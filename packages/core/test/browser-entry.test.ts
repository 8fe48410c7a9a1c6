import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

const core = "packages/core/src/";
const serverOnly = [
  /^node:/,
  /(^|\/)node_modules\/(.*\/)?zod\//,
  /^packages\/core\/src\/(agent|loop|store|server|model)\//,
  /^packages\/core\/src\/protocol\/(schemas|digest)\.ts$/,
];
const serverModules = async (entry: string): Promise<string[]> =>
  (await bundle(core + entry)).modules.filter((id) => serverOnly.some((pattern) => pattern.test(id)));

test("the browser entry reaches no server module, no zod and no node: import", async () => {
  expect(await serverModules("index.ts")).toEqual([]);
});

test("the same search finds server modules and zod in the server entry", async () => {
  const found = await serverModules("server.ts");
  expect(found).toContainEqual(expect.stringMatching(/^packages\/core\/src\/server\//));
  expect(found).toContainEqual(expect.stringMatching(/\/zod\//));
});
