export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** A table row with columns as wide as their longest possible figure. */
export function row(label: string, ...cells: readonly string[]): string {
  const widths = [9, 13, 7, 7, 7, 23, 6, 10];
  return label.padEnd(14) + cells.map((cell, at) => cell.padStart(widths[at] ?? 8)).join(' ');
}
