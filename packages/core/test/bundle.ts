import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Plugin, rolldown } from "rolldown";

export interface Bundle {
  /** Every module that was reached, as a path from the repository's root or a `node:` name. */
  readonly modules: readonly string[];
  /** Bytes after minify and gzip. */
  readonly gzipBytes: number;
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
  const code = output.map((file) => (file.type === "chunk" ? file.code : "")).join("\n");
  return { modules: [...modules].sort(), gzipBytes: gzipSync(code, { level: 9 }).byteLength };
}
