/** A Markdown table: a column for each measured case, a row for each number. */
export function toMarkdown(title, columns) {
  const names = Object.keys(columns[0] ?? {}).filter((name) => name !== "title");
  const rows = [
    [title, ...columns.map((column) => column.title)],
    ["---", ...columns.map(() => "---:")],
    ...names.map((name) => [name, ...columns.map((column) => show(column[name]))]),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function show(value) {
  if (typeof value !== "number") return value ?? "";
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Number(value.toPrecision(value >= 100 ? 3 : 2)).toLocaleString("en-US");
}

/** `p50 · p99` of samples, in their unit. */
export function spread(samples) {
  const sorted = Float64Array.from(samples).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return `${show(at(0.5))} · ${show(at(0.99))}`;
}
