// Numbers into rows and a table. A row's value, limit and budget have its unit; a budget that is a multiple of the
// limit has a row of its own with the unit "x", because only ratios of one run can be compared.

/** The rows of `npm run bench -- --json`. */
export function toRows(benches, numberAt) {
  return benches.flatMap(({ name, unit, value: at, limit: limitAt, times, atMost }) => {
    const value = round(numberAt(at));
    const limit = limitAt ? round(numberAt(limitAt)) : null;
    const ratio = limit === null ? null : round(value / limit);
    const row = { name, unit, value, limit, ratio, budget: atMost ?? null };
    return times === undefined ? [row] : [row, { name, unit: "x", value: ratio, limit: 1, ratio, budget: times }];
  });
}

/** The same for a person: one line a name and unit, the ratio's budget beside its value. */
export function toTable(rows) {
  const lines = [["bench", "value", "limit", "ratio", "budget", ""]];
  for (const row of rows) {
    if (row.unit === "x") continue;
    const times = rows.find(({ name, unit }) => unit === "x" && name === row.name);
    const budget = times ? `≤ ${times.budget} x` : row.budget === null ? "" : `≤ ${row.budget}`;
    const judged = times ?? row;
    const verdict = judged.budget === null ? "" : judged.value <= judged.budget ? "ok" : "OVER";
    const limit = row.limit === null ? "" : String(row.limit);
    lines.push([
      row.name,
      `${row.value} ${row.unit}`,
      limit,
      row.ratio === null ? "" : `${row.ratio} x`,
      budget,
      verdict,
    ]);
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) => line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))))
    .map((line) => line.join("  ").trimEnd())
    .join("\n");
}

/** Three digits that mean something. */
function round(number) {
  return Number(number.toPrecision(3));
}
