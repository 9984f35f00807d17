import type { Machine } from './machine.js';
import type { ProfilePoint, Split } from './profile.js';

/** Each session holds the weights again; with more cores than this, sessions get more threads. */
const MAX_SESSIONS = 16;
/** Larger batches are not tried unless somebody asks for them. */
const MAX_BATCH = 128;
/** Throughput this far below the best means that larger batches do not pay. */
const FALLEN = 0.9;
/** Twice the batch must bring this much more throughput, or bring it at the next size. */
const WORTHWHILE = 1.03;
/** An engine that takes more of the memory than this leaves too little for the rest. */
const MEMORY_SHARE = 0.5;

/**
 * The ways to divide the cores that are worth measuring, the most usual first: all cores in use,
 * by one session per core, by one session for all of them, or by something between.
 * @param wanted set by hand: measured in any case
 */
export function splitsFor(cores: number, wanted: Partial<Split> = {}): Split[] {
  const splits: Split[] = [];
  for (let threads = 1; threads < cores * 2; threads *= 2) {
    const used = Math.min(threads, cores);
    splits.push({ sessions: Math.max(1, Math.floor(cores / used)), threads: used });
  }
  const [narrowest, ...rest] = splits.filter(({ sessions }) => sessions <= MAX_SESSIONS);
  const widest = rest.pop();
  const usual = [narrowest, widest, ...rest].filter((split) => split !== undefined);
  const { sessions, threads } = wanted;
  if (sessions === undefined && threads === undefined) return usual;
  const byHand = {
    sessions: sessions ?? Math.max(1, Math.floor(cores / (threads ?? 1))),
    threads: threads ?? Math.max(1, Math.floor(cores / (sessions ?? 1))),
  };
  const others = usual.filter((split) => !isSame(split, byHand));
  return [byHand, ...others];
}

/**
 * The batch size to measure after these, or `undefined` when larger ones are not worth it.
 * @param wanted set by hand: measured up to there, whatever throughput does
 */
export function nextBatch(
  points: readonly ProfilePoint[],
  machine: Pick<Machine, 'memoryBytes'>,
  wanted?: number,
): number | undefined {
  const last = points.at(-1);
  if (last === undefined) return 1;
  const most = wanted ?? MAX_BATCH;
  if (last.batch >= most || last.rssBytes > machine.memoryBytes * MEMORY_SHARE) return undefined;
  const next = Math.min(last.batch * 2, most);
  if (wanted !== undefined) return next;
  const rates = points.map(({ batch, ms }) => batch / ms);
  const hasFallen = (rates.at(-1) ?? 0) < Math.max(...rates) * FALLEN;
  const before = Math.max(...rates.slice(0, -2));
  const isFlat = rates.length > 2 && Math.max(...rates.slice(-2)) < before * WORTHWHILE;
  return hasFallen || isFlat ? undefined : next;
}

export function isSame(a: Split, b: Split): boolean {
  return a.sessions === b.sessions && a.threads === b.threads;
}
