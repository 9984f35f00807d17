import { type Curve, type CurvePoint, imagesPerSecond } from './curve.js';

/** How the cores are divided: sessions side by side, each with so many threads. */
export interface Split {
  readonly sessions: number;
  readonly threads: number;
}

/** One batch size on one split, with all sessions at work. */
export interface ProfilePoint {
  readonly batch: number;
  /** The median of all runs. */
  readonly ms: number;
  /** How many runs that is. */
  readonly runs: number;
  /** Resident memory of the engine after it. */
  readonly rssBytes: number;
}

export interface SplitProfile extends Split {
  /** Smallest batch first. */
  readonly points: readonly ProfilePoint[];
}

/** What was measured about a model on a machine. */
export interface Profile {
  readonly provider: string;
  /** ISO 8601. */
  readonly measuredAt: string;
  /** `quick` until it has been refined in idle moments. */
  readonly depth: 'quick' | 'full';
  /** What decoding an ordinary photo takes one core. */
  readonly decodeMs: number;
  readonly splits: readonly SplitProfile[];
}

/** Times of single runs, as they come from an engine. */
export interface Sample extends Split {
  readonly batch: number;
  readonly ms: readonly number[];
  readonly decodeMs: number;
  readonly rssBytes: number;
}

/** Medians over all samples of the same split and batch, so that a hiccup does not count. */
export function summarise(
  samples: readonly Sample[],
  about: Pick<Profile, 'provider' | 'measuredAt' | 'depth'>,
): Profile {
  const splits = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = `${String(sample.sessions)}×${String(sample.threads)}`;
    splits.set(key, [...(splits.get(key) ?? []), sample]);
  }
  return {
    ...about,
    decodeMs: samples.length === 0 ? 0 : round(median(samples.map(({ decodeMs }) => decodeMs))),
    splits: [...splits.values()].map((own) => {
      const { sessions, threads } = own[0] as Sample;
      const sizes = [...new Set(own.map(({ batch }) => batch))].sort((a, b) => a - b);
      const points = sizes.map((batch) => {
        const same = own.filter((sample) => sample.batch === batch);
        const times = same.flatMap(({ ms }) => ms);
        const rssBytes = median(same.map((sample) => sample.rssBytes));
        return { batch, ms: round(median(times)), runs: times.length, rssBytes };
      });
      return { sessions, threads, points };
    }),
  };
}

/**
 * The faster of two measurements of the same machine, point by point: a neighbour that was busy
 * during one of them makes it slower, and nothing makes it faster.
 */
export function fasterOf(before: Profile, after: Profile): Profile {
  const splits = after.splits.map((split) => {
    const known = findSplit(before, split)?.points ?? [];
    const points = split.points.map((point) => {
      const other = known.find(({ batch }) => batch === point.batch);
      return other !== undefined && other.ms < point.ms ? { ...point, ms: other.ms } : point;
    });
    return { ...split, points };
  });
  return { ...after, splits };
}

export function findSplit(
  profile: Profile,
  { sessions, threads }: Split,
): SplitProfile | undefined {
  return profile.splits.find((one) => one.sessions === sessions && one.threads === threads);
}

export function curveOf(split: SplitProfile | undefined): Curve {
  return (split?.points ?? []).map(({ batch, ms }) => ({ batch, ms }));
}

/** What a split reaches with batches of one size, decoding of ordinary photos included. */
export function throughput(
  { decodeMs }: Pick<Profile, 'decodeMs'>,
  { sessions }: Split,
  { batch, ms }: CurvePoint,
): number {
  return sessions * imagesPerSecond({ batch, ms: ms + batch * decodeMs });
}

/** What one more session costs, from engines that had more and fewer of them. */
export function sessionBytes(profile: Profile): number | undefined {
  const bySessions = profile.splits
    .map(({ sessions, points }) => ({ sessions, rss: points[0]?.rssBytes ?? 0 }))
    .sort((a, b) => a.sessions - b.sessions);
  const [fewest, most] = [bySessions[0], bySessions.at(-1)];
  if (fewest === undefined || most === undefined || most.sessions === fewest.sessions) {
    return undefined;
  }
  return Math.max(0, Math.round((most.rss - fewest.rss) / (most.sessions - fewest.sessions)));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
