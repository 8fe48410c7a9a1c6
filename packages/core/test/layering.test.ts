import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type Arrows, checkArrows } from "./import-arrows.ts";

const core: Arrows = {
  rooms: {
    "index.ts": ["client", "protocol"],
    "server.ts": ["server"],
    "postgres.ts": ["adapters"],
    "redis.ts": ["adapters"],
    "http.ts": ["adapters"],
    "mcp.ts": ["adapters"],
    "testing.ts": ["testing"],
    testing: ["server"],
    server: ["loop", "store"],
    loop: ["agent"],
    agent: ["model"],
    model: ["protocol"],
    store: ["protocol"],
    adapters: ["agent", "store"],
    client: ["protocol"],
    protocol: ["errors.ts"],
    "errors.ts": [],
  },
  never: { store: /^protocol\/reduce-/ },
};

const react: Arrows = {
  rooms: {
    "index.ts": ["hooks", "strings.ts"],
    "ui.ts": ["chat", "strings.ts"],
    "markdown.ts": ["markdown"],
    "timeline.ts": ["timeline"],
    markdown: ["step"],
    timeline: ["step"],
    strings: ["strings.ts"],
    chat: ["step", "strings.ts"],
    step: ["hooks", "strings.ts"],
    hooks: ["toolrun"],
    "strings.ts": ["toolrun"],
  },
  package: "toolrun",
};

describe("import arrows", () => {
  test("core keeps its arrows and has no cycle", () => {
    expect(checkArrows(sourcesOf("../src"), core)).toEqual([]);
  });

  test("react keeps its arrows and has no cycle", () => {
    expect(checkArrows(sourcesOf("../../react/src"), react)).toEqual([]);
  });

  test.each([
    ["client/a.ts", "../loop/run-loop.ts", "client/a.ts → loop/run-loop.ts"],
    ["protocol/a.ts", "../model/model.ts", "protocol/a.ts → model/model.ts"],
    ["loop/a.ts", "../store/memory-store.ts", "loop/a.ts → store/memory-store.ts"],
    ["store/a.ts", "../protocol/reduce-thread.ts", "store/a.ts → protocol/reduce-thread.ts"],
    ["index.ts", "./server/drive.ts", "index.ts → server/drive.ts"],
    ["utils/a.ts", "../errors.ts", "utils/a.ts: utils is not a known room"],
  ])("a planted import in %s of %s is reported", (path, specifier, problem) => {
    for (const source of [
      `import { a } from "${specifier}";`,
      `import type { A } from "${specifier}";`,
      `export { a } from "${specifier}";`,
      `export * from "${specifier}";`,
      `const a = await import("${specifier}");`,
      `type A = import("${specifier}").A;`,
    ]) {
      expect(checkArrows(new Map([[path, source]]), core)).toEqual([problem]);
    }
  });

  test("a planted import of the server entry by react is reported", () => {
    const sources = new Map([["hooks/a.ts", 'import { a } from "toolrun/server"; import { b } from "toolrun";']]);
    expect(checkArrows(sources, react)).toEqual(["hooks/a.ts → toolrun/server"]);
  });

  test("a planted cycle is reported, of types too", () => {
    const sources = new Map([
      ["protocol/a.ts", 'import { b } from "./b.ts";'],
      ["protocol/b.ts", 'import type { C } from "./c.ts";'],
      ["protocol/c.ts", 'export * from "./a.ts";'],
    ]);
    expect(checkArrows(sources, core)).toEqual([
      "cycle: protocol/a.ts → protocol/b.ts → protocol/c.ts → protocol/a.ts",
    ]);
  });

  test("an import along the arrows, near or far, is fine, and one in a comment is none", () => {
    const sources = new Map([
      [
        "server/a.ts",
        'import { a } from "../loop/a.ts"; import { b } from "../protocol/b.ts"; import { z } from "zod";',
      ],
      ["loop/a.ts", '/** import { drive } from "../server/a.ts"; */ export const a = 1;'],
    ]);
    expect(checkArrows(sources, core)).toEqual([]);
  });
});

function sourcesOf(folder: string): Map<string, string> {
  const root = fileURLToPath(new URL(folder, import.meta.url));
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  expect(paths).not.toEqual([]);
  return new Map(paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(`${root}/${path}`, "utf8")]));
}
