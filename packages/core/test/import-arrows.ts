import { parseSync } from "rolldown/utils";

/** Who may import whom, one hop; what lies further down the arrows is allowed too. */
export interface Arrows {
  /** Room (first folder, or a file beside the rooms) to the rooms it may import. */
  readonly rooms: Readonly<Record<string, readonly string[]>>;
  /** Patterns of files that a room must not import although its arrows reach them. */
  readonly never?: Readonly<Record<string, RegExp>>;
  /** The package that may be imported by its name alone, as a room of that name. */
  readonly package?: string;
}

/** Lists every import that breaks the arrows, and every cycle, in sources given as path → text. */
export function checkArrows(sources: ReadonlyMap<string, string>, arrows: Arrows): string[] {
  const problems: string[] = [];
  const graph = new Map<string, string[]>();
  for (const [path, source] of sources) {
    const targets: string[] = [];
    for (const specifier of specifiers(path, source)) {
      const target = specifier.startsWith(".") ? resolve(path, specifier) : undefined;
      if (target !== undefined) targets.push(target);
      const problem = problemWith(path, specifier, target, arrows);
      if (problem !== undefined) problems.push(problem);
    }
    graph.set(path, targets);
  }
  return [...problems, ...cycles(graph)];
}

function problemWith(path: string, specifier: string, target: string | undefined, arrows: Arrows): string | undefined {
  const from = roomOf(path);
  const reachable = reach(from, arrows.rooms);
  if (reachable === undefined) return `${path}: ${from} is not a known room`;
  if (target === undefined) {
    const name = arrows.package;
    if (name === undefined || (specifier !== name && !specifier.startsWith(`${name}/`))) return undefined;
    return reachable.has(specifier) ? undefined : `${path} → ${specifier}`;
  }
  const to = roomOf(target);
  const allowed = to === from || reachable.has(to);
  return allowed && !arrows.never?.[from]?.test(target) ? undefined : `${path} → ${target}`;
}

function reach(room: string, rooms: Arrows["rooms"]): Set<string> | undefined {
  const direct = rooms[room];
  if (direct === undefined) return undefined;
  const found = new Set<string>();
  const open = [...direct];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(rooms[next] ?? []));
  }
  return found;
}

/** Types count as much as values: a type cycle is still two files that cannot be read apart. */
function specifiers(path: string, source: string): string[] {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("type" in node && "source" in node && /^(Import|Export|TSImport)/.test(String(node.type))) {
      const literal = node.source as { value?: unknown } | null; // every such node holds a string literal, or nothing
      if (typeof literal?.value === "string") found.add(literal.value);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(program);
  return [...found];
}

function resolve(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function roomOf(path: string): string {
  const slash = path.indexOf("/");
  return slash === -1 ? path : path.slice(0, slash);
}

function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) found.push(`cycle: ${[...trail.slice(start), path].join(" → ")}`);
    if (start !== -1 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) walk(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return found;
}
