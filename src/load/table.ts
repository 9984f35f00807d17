/**
 * Rows as lines, with columns as wide as their longest cell. Figures stand to the right.
 * @param left the columns that hold words
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  left: readonly number[] = [],
): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, at) =>
        left.includes(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
