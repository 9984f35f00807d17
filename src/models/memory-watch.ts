import type { EngineSeat } from '../engine/engine-seat.js';
import { above, markFor, type MemoryUse, most } from './memory-mark.js';

export interface MemoryWatchHost {
  readonly setting: number | 'auto';
  seats(): readonly EngineSeat[];
  /** Memory on its GPU, where that is known. */
  gpuBytesOf(pid: number): number | undefined;
  now(): number;
  onAbove(use: MemoryUse, mark: MemoryUse, kind: 'memory' | 'gpu_memory'): void;
}

interface Known {
  readonly since: number;
  readonly start: MemoryUse;
}

const CHECK_MS = 1000;
/** Until then an engine still takes what it needs for its work; that is no leak. */
const SETTLING_MS = 60_000;
/** A mark that no engine can keep must not have them replaced all the time. */
const PAUSE_MS = 60_000;

/** Replaces engines that hold more and more memory, before somebody else has none. */
export class MemoryWatch {
  readonly #host: MemoryWatchHost;
  readonly #known = new Map<number, Known>();
  readonly #replacedAt = new Map<EngineSeat, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(host: MemoryWatchHost) {
    this.#host = host;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.check();
    }, CHECK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  check(): void {
    const seats = this.#host.seats();
    for (const seat of seats) this.#checkSeat(seat);
    const pids = new Set(seats.map(({ pid }) => pid));
    for (const pid of this.#known.keys()) if (!pids.has(pid)) this.#known.delete(pid);
  }

  #checkSeat(seat: EngineSeat): void {
    const { pid, isOpen, vitals } = seat;
    if (pid === undefined || !isOpen || vitals.rssBytes === 0) return;
    const now = this.#host.now();
    const use = { rssBytes: vitals.rssBytes, gpuBytes: this.#host.gpuBytesOf(pid) };
    const before = this.#known.get(pid) ?? { since: now, start: use };
    const isSettling = now - before.since < SETTLING_MS;
    const known = isSettling ? { ...before, start: most(before.start, use) } : before;
    this.#known.set(pid, known);
    const mark = markFor(this.#host.setting, known.start);
    const kind = above(use, mark);
    if (kind === undefined || now - (this.#replacedAt.get(seat) ?? -Infinity) < PAUSE_MS) return;
    this.#replacedAt.set(seat, now);
    this.#host.onAbove(use, mark, kind);
    seat.recycle(true);
  }
}
