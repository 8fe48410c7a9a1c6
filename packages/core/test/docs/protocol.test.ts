import { parseSync } from "rolldown/utils";
import { describe, expect, test } from "vitest";
import { ToolRunError, type ToolRunErrorCode } from "../../src/errors.ts";
import type { ThreadEvent } from "../../src/protocol/event.ts";
import { isControl } from "../../src/protocol/event.ts";
import { projectEvent } from "../../src/protocol/project.ts";
import {
  continueBody,
  decisionsBody,
  messageBody,
  revokeBody,
  stopBody,
  titleBody,
} from "../../src/protocol/request-schema.ts";
import { eventSchemas } from "../../src/protocol/schemas.ts";
import { statusOf } from "../../src/server/errors-on-the-wire.ts";
import { codeSpans, read, section, tableRows } from "./read-docs.ts";

const page: string = read("docs/protocol.md");
const source = (path: string): string => read(`packages/core/src/${path}`);

describe("section 1: HTTP", () => {
  test("lists the endpoints that handle-request.ts answers, and no other", () => {
    expect(endpointsOf(page)).toEqual(endpointsInCode());
  });

  test("an endpoint without its row is found", () => {
    expect(endpointsOf(withoutRow(page, "`POST /threads/:id/stop`"))).not.toEqual(endpointsInCode());
  });

  test("lists every field of every body, and no other", () => {
    expect(bodiesOf(page)).toEqual(bodiesInCode());
  });

  test("a field without its row is found", () => {
    expect(bodiesOf(withoutRow(page, "`decisions[].digest`"))).not.toEqual(bodiesInCode());
  });

  test("lists every error code with the status that the server gives it", () => {
    expect(codesOf(page)).toEqual(codesInCode());
  });

  test("a code without its row, or with another status, is found", () => {
    expect(codesOf(withoutRow(page, "`stale`"))).not.toEqual(codesInCode());
    expect(codesOf(page.replace(/(`stale` +\| )409/, "$1410"))).not.toEqual(codesInCode());
  });
});

describe("section 2: events", () => {
  test("lists every event once, marked as what it is", () => {
    expect(
      eventsOf(page)
        .map(({ mark, type }) => `${mark} ${type}`)
        .toSorted(),
    ).toEqual(
      Object.keys(eventSchemas)
        .map((type) => `${isControl({ type }) ? "●" : "○"} ${type}`)
        .toSorted(),
    );
  });

  test("lists the fields that the types say, and no other", () => {
    expect(fieldsOf(page)).toEqual(fieldsInTypes());
  });

  test("lists the fields that the schemas say, and no other", () => {
    expect(fieldsOf(page)).toEqual(fieldsInSchemas());
  });

  test("an event without its row, or a field without its name, is found", () => {
    for (const less of [withoutRow(page, "`call-settled`"), page.replace("`salt`†", "")]) {
      expect(less).not.toBe(page);
      expect(fieldsOf(less)).not.toEqual(fieldsInTypes());
      expect(fieldsOf(less)).not.toEqual(fieldsInSchemas());
    }
  });

  test("marks the fields that projection removes, and no other", () => {
    for (const { type, fields } of eventsOf(page))
      expect([type, marked(fields)]).toEqual([type, removed(type, fields)]);
  });
});

describe("section 3: statuses", () => {
  test.each([
    ["3.1 Steps", "protocol/thread.ts", "StepStatus"],
    ["3.2 Why a step was not run", "protocol/values.ts", "NotRunReason"],
    ["3.4 How a run ends", "protocol/values.ts", "RunOutcome"],
    ["3.5 Limits", "protocol/values.ts", "LimitName"],
  ])("%s lists what %s says of %s", (heading, path, name) => {
    const listed = tableRows(section(page, heading)).map(([cell = ""]) => codeSpans(cell)[0]);
    expect(listed).toEqual(namesIn(path, name));
  });
});

describe("section 4: what happens next", () => {
  test("has the 20 rows in order, and those that next-action.ts cites", () => {
    const rows = tableRows(section(page, "4. What happens next")).map(([cell]) => Number(cell));
    expect(rows).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const cited = [...source("loop/next-action.ts").matchAll(/\/\/ (\d+(?:, \d+)*)$/gm)].flatMap(([, list = ""]) =>
      list.split(", "),
    );
    expect(cited.length).toBeGreaterThan(15);
    expect(cited.map(Number).filter((row) => !rows.includes(row))).toEqual([]);
  });
});

describe("section 5: the store contract", () => {
  test("lists the store's methods", () => {
    const listed = tableRows(section(page, "5.1 Six methods")).map(([cell = ""]) => /^`(\w+)/.exec(cell)?.[1]);
    expect(listed).toEqual(fieldNames("store/thread-store.ts", "ThreadStore"));
  });
});

/** A page with one table row less: what its test must notice. */
function withoutRow(markdown: string, cell: string): string {
  const lines = markdown.split("\n");
  const kept = lines.filter((line) => !(line.startsWith("|") && line.includes(cell)));
  expect(kept.length).toBeLessThan(lines.length);
  return kept.join("\n");
}

function endpointsOf(markdown: string): string[] {
  return tableRows(section(markdown, "1.2 Endpoints"))
    .map(([cell = ""]) => codeSpans(cell)[0] ?? "")
    .toSorted();
}

function endpointsInCode(): string[] {
  const code = source("server/handle-request.ts");
  const list = [...code.matchAll(/if \(name === "(\w+)"\)/g)].map(([, method]) => `${method} /threads`);
  const one = [...code.matchAll(/case "([A-Z]+)(?: (\w+))?":/g)].map(
    ([, method, action]) => `${method} /threads/:id${action ? `/${action}` : ""}`,
  );
  return [...list, ...one].toSorted();
}

function bodiesOf(markdown: string): string[] {
  return tableRows(section(markdown, "1.3 Bodies"))
    .flatMap(([body = "", field = ""]) => codeSpans(body).map((name) => `${name} ${codeSpans(field)[0]}`))
    .toSorted();
}

function bodiesInCode(): string[] {
  const schemas = {
    messages: messageBody,
    decisions: decisionsBody,
    stop: stopBody,
    continue: continueBody,
    title: titleBody,
    revoke: revokeBody,
  };
  return Object.entries(schemas)
    .flatMap(([name, schema]) => pathsOf(schema, "").map((path) => `${name} ${path}`))
    .toSorted();
}

/** What is read of a zod schema. */
interface Schema {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly shape?: Readonly<Record<string, Schema>>;
      readonly innerType?: Schema;
      readonly element?: Schema;
    };
  };
}

/** The fields of a schema as paths, `?` behind those that may be missing. */
function pathsOf(schema: unknown, path: string): string[] {
  const { type, shape, innerType, element } = (schema as Schema)._zod.def; // zod's own form
  if (type === "optional") return pathsOf(innerType, path).map((each) => (each === path ? `${path}?` : each));
  if (type === "readonly") return pathsOf(innerType, path);
  if (type === "array") {
    const inner = pathsOf(element, `${path}[]`);
    return inner.length > 1 ? inner : [path];
  }
  if (!shape) return [path];
  return Object.entries(shape).flatMap(([name, field]) => pathsOf(field, path === "" ? name : `${path}.${name}`));
}

function codesOf(markdown: string): string[] {
  return tableRows(section(markdown, "1.5 Errors"))
    .map(([code = "", status]) => `${codeSpans(code)[0]} ${status}`)
    .toSorted();
}

function codesInCode(): string[] {
  return namesIn("errors.ts", "ToolRunErrorCode")
    .map((code) => `${code} ${statusOf(new ToolRunError(code as ToolRunErrorCode, ""))}`)
    .toSorted();
}

interface DocumentedEvent {
  readonly mark: string;
  readonly type: string;
  /** As written: `title?`, and `salt`† for what stays on the server. */
  readonly fields: readonly string[];
}

function eventsOf(markdown: string): DocumentedEvent[] {
  return tableRows(section(markdown, "2. Events")).flatMap(([name = "", fields = ""]) => {
    const [, mark = "", type = ""] = /^([●○]) `([\w-]+)`$/.exec(name) ?? [];
    return type === "" ? [] : [{ mark, type, fields: [...fields.matchAll(/`\w+\??`†?/g)].map(([field]) => field) }];
  });
}

function nameOf(field: string): string {
  return field.replace(/[`†?]/g, "");
}

/** The whole event: what its row says, and the envelope of every event. */
function fieldsOf(markdown: string): Record<string, string[]> {
  const plain = (fields: readonly string[]): string[] => fields.map((field) => field.replace(/[`†]/g, "")).toSorted();
  return Object.fromEntries(eventsOf(markdown).map(({ type, fields }) => [type, plain(fields)]));
}

/** The fields of the interfaces in event.ts and call-event.ts, `?` behind those that may be missing. */
function fieldsInTypes(): Record<string, string[]> {
  const files = ["protocol/values.ts", "protocol/event.ts", "protocol/call-event.ts"];
  const all = new Map(files.flatMap((path) => interfacesOf(path)).map((each) => [each.name, each]));
  const found: Record<string, string[]> = {};
  for (const { type, fields, parents } of all.values()) {
    if (type === undefined) continue;
    const inherited = parents.flatMap((parent) => all.get(parent)?.fields ?? []);
    found[type] = [...fields, ...inherited].toSorted();
  }
  return found;
}

/** The same as the schemas say it, without what every event carries. */
function fieldsInSchemas(): Record<string, string[]> {
  const envelope = tableRows(section(page, "2.1 The envelope")).map(([cell = ""]) => codeSpans(cell)[0]);
  return Object.fromEntries(
    Object.entries(eventSchemas).map(([type, schema]) => {
      const { shape = {} } = (schema as unknown as Schema)._zod.def; // zod's own form
      const fields = Object.entries(shape).map(([name, field]) => `${name}${isOptional(field) ? "?" : ""}`);
      return [type, fields.filter((field) => !envelope.includes(field)).toSorted()];
    }),
  );
}

function isOptional(schema: Schema): boolean {
  return schema._zod.def.type === "optional";
}

function marked(fields: readonly string[]): string[] {
  return fields.filter((field) => field.endsWith("†")).map(nameOf);
}

/** What projection takes from an event that has every field its row lists. */
function removed(type: string, fields: readonly string[]): string[] {
  const names = fields.map(nameOf);
  const event = { type, ...Object.fromEntries(names.map((name) => [name, "something"])) };
  const open: unknown = projectEvent(event as unknown as ThreadEvent) ?? {}; // only names matter here
  return names.filter((name) => !(open as Record<string, unknown>)[name]);
}

interface Interface {
  readonly name: string;
  readonly type: string | undefined;
  readonly fields: readonly string[];
  readonly parents: readonly string[];
}

/** What is read of a syntax tree. */
interface Node {
  readonly type: string;
  readonly id?: { readonly name: string };
  readonly declaration?: Node | null;
  readonly extends?: readonly { readonly expression: { readonly name?: string } }[];
  readonly body?: { readonly body: readonly Member[] };
  readonly typeAnnotation?: { readonly types?: readonly { readonly literal?: { readonly value: string } }[] };
}
interface Member {
  readonly key: { readonly name: string };
  readonly optional: boolean;
  readonly typeAnnotation?: { readonly typeAnnotation: { readonly literal?: { readonly value: string } } };
}

function declarationsOf(path: string): Node[] {
  const { program, errors } = parseSync(path, source(path));
  expect(errors).toEqual([]);
  return (program.body as unknown as Node[]).flatMap((node) => node.declaration ?? []); // the tree of the parser
}

function interfacesOf(path: string): Interface[] {
  return declarationsOf(path)
    .filter((node) => node.type === "TSInterfaceDeclaration")
    .map(({ id, body, extends: parents }) => {
      const members = body?.body ?? [];
      const kind = members.find(({ key }) => key.name === "type")?.typeAnnotation?.typeAnnotation.literal?.value;
      return {
        name: id?.name ?? "",
        type: kind,
        fields: members
          .filter(({ key }) => key.name !== "type")
          .map(({ key, optional }) => `${key.name}${optional ? "?" : ""}`),
        parents: (parents ?? []).flatMap(({ expression }) => expression.name ?? []),
      };
    });
}

function fieldNames(path: string, name: string): readonly string[] {
  return interfacesOf(path).find((each) => each.name === name)?.fields ?? [];
}

/** The members of a union of texts. */
function namesIn(path: string, name: string): string[] {
  const union = declarationsOf(path).find((node) => node.id?.name === name)?.typeAnnotation;
  return (union?.types ?? []).map((each) => each.literal?.value ?? "");
}
