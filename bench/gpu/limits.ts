import type { DeviceName } from '../../src/config/devices.js';
import type { DecodeRow, RawRow, ServedRow } from './results.js';

/** The best raw loop of a device, with the model file that is served where that is known. */
export function bestRaw(
  rows: readonly RawRow[],
  device: DeviceName,
  precision?: string,
): RawRow | undefined {
  const own = rows.filter((row) => row.device === device);
  const same = own.filter((row) => row.precision === precision);
  return best(same.length > 0 ? same : own, ({ perSecond }) => perSecond);
}

export function decodeLimit(rows: readonly DecodeRow[]): number | undefined {
  return best(rows, ({ perSecond }) => perSecond)?.perSecond;
}

export interface Bounds {
  readonly device: DeviceName;
  readonly raw: number;
  /** Of all cores. */
  readonly decode: number;
  readonly cores: number;
  /** Cores that the load generator kept busy, which a server has for itself in earnest. */
  readonly generatorCores: number;
}

/**
 * The most that could be served: a GPU is bounded by its raw loop or by the decoding of the cores
 * that are left; on the CPU both share those cores.
 */
export function servedLimit({ device, raw, decode, cores, generatorCores }: Bounds): number {
  const left = Math.max(0, cores - generatorCores) / cores;
  if (device === 'cpu') return left / (1 / raw + 1 / decode);
  return Math.min(raw, decode * left);
}

/** One row for each setting of a device: its middle round, with the middle share of the limit. */
export function middleRows(rows: readonly ServedRow[]): ServedRow[] {
  const keys = new Set(rows.map(keyOf));
  return [...keys].map((key) => {
    const own = rows.filter((row) => keyOf(row) === key);
    const row = middle(own, ({ perSecond }) => perSecond) as ServedRow;
    return { ...row, ratio: middle(own, ({ ratio }) => ratio ?? 0)?.ratio ?? null };
  });
}

function keyOf({ device, setting, form, concurrency }: ServedRow): string {
  return [device, setting, form, concurrency].join();
}

/** How far automatic settings are from the best ones by hand: 1 is the best, more is better. */
export function shareOfBest(rows: readonly ServedRow[]): number | null {
  const all = middleRows(rows);
  const auto = all.find(({ setting }) => setting === '');
  const byHand = all.filter(({ setting }) => setting !== '').map(({ perSecond }) => perSecond);
  if (auto === undefined || byHand.length === 0) return null;
  return auto.perSecond / Math.max(...byHand);
}

/** By how much something grew from the middle of a run to its end, each a mean of a fifth. */
export function lateGrowth(values: readonly number[]): number {
  const width = Math.max(1, Math.floor(values.length / 5));
  const middle = Math.floor((values.length - width) / 2);
  return mean(values.slice(-width)) - mean(values.slice(middle, middle + width));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function middle<T>(rows: readonly T[], of: (row: T) => number): T | undefined {
  return rows.toSorted((a, b) => of(a) - of(b))[Math.floor(rows.length / 2)];
}

function best<T>(rows: readonly T[], of: (row: T) => number): T | undefined {
  return rows.toSorted((a, b) => of(b) - of(a))[0];
}
