import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Plugin, rolldown } from "rolldown";

export interface Bundle {
  /** Every module that was reached, as a path from the repository's root or a `node:` name. */
  readonly modules: readonly string[];
  /** Bytes after minify and gzip of what loads at once. */
  readonly gzipBytes: number;
  /** The same of what is imported when it is needed. */
  readonly laterGzipBytes: number;
}

const root: string = fileURLToPath(new URL("../../..", import.meta.url));

/** Bundles one entry for the browser, everything inlined but what `external` matches. */
export async function bundle(entry: string, external: readonly RegExp[] = []): Promise<Bundle> {
  const modules = new Set<string>();
  const recorder: Plugin = {
    name: "record-modules",
    resolveId(source) {
      if (!isBuiltin(source)) return null;
      modules.add(source.startsWith("node:") ? source : `node:${source}`);
      return { id: source, external: true };
    },
    moduleParsed(info) {
      modules.add(info.id.replaceAll("\\", "/").replace(root.replaceAll("\\", "/"), ""));
    },
  };
  const build = await rolldown({
    input: root + entry,
    cwd: root,
    platform: "browser",
    external: [...external],
    plugins: [recorder],
    onLog(_level, log) {
      if (log.code !== "MODULE_LEVEL_DIRECTIVE") throw new Error(log.message);
    },
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])));
  const now = new Set([...chunks.values()].filter((chunk) => chunk.isEntry).map((chunk) => chunk.fileName));
  for (const name of now) for (const other of chunks.get(name)?.imports ?? []) now.add(other);
  const bytesOf = (wanted: (name: string) => boolean): number => {
    const code = [...chunks.values()].filter(({ fileName }) => wanted(fileName)).map((chunk) => chunk.code);
    return code.length === 0 ? 0 : gzipSync(code.join("\n"), { level: 9 }).byteLength;
  };
  return {
    modules: [...modules].sort(),
    gzipBytes: bytesOf((name) => now.has(name)),
    laterGzipBytes: bytesOf((name) => !now.has(name)),
  };
}
