const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration for a person: at most two units, and none that does not matter. */
export function span(ms: number): string {
  if (ms < 999.5) return `${String(Math.max(0, Math.round(ms)))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at] ?? UNITS[3];
  const whole = Math.floor(seconds / size);
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  return `${String(whole)} ${unit}${next === undefined || rest === 0 ? '' : ` ${String(rest)} ${next[0]}`}`;
}
