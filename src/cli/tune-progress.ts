import { bar, figure } from '../load/chart.js';
import { duration } from '../tune/effort.js';
import type { TuneProgress } from '../tune/tuner.js';
import { ProgressLine } from './bench-progress.js';

const BAR_WIDTH = 24;
const REDRAW_MS = 500;

/** A bar where a person looks on, and a line per visit where a file collects the output. */
export class TuneProgressBar {
  readonly #out: NodeJS.WriteStream;
  readonly #line: ProgressLine;
  readonly #timer: NodeJS.Timeout;
  #latest: TuneProgress | undefined;
  #toldAt = 0;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#line = new ProgressLine(out);
    this.#timer = setInterval(() => {
      this.#draw();
    }, REDRAW_MS);
  }

  readonly tell = (progress: TuneProgress): void => {
    this.#latest = progress;
    this.#toldAt = performance.now();
    if (!this.#out.isTTY && progress.ended !== undefined) this.#line.done(plainLine(progress));
    this.#draw();
  };

  stop(): void {
    clearInterval(this.#timer);
    this.#latest = undefined;
    this.#line.draw('');
  }

  #draw(): void {
    if (this.#latest === undefined) return;
    this.#line.draw(barLine(this.#latest, performance.now() - this.#toldAt));
  }
}

export function barLine({ stage, candidate, share, leftMs }: TuneProgress, agoMs: number): string {
  const done = bar(share, 1, BAR_WIDTH).padEnd(BAR_WIDTH, '░');
  const left = duration(leftMs - agoMs);
  return `${done} ${percent(share)}, ${left} left; ${stage}: ${candidate.name}`;
}

export function plainLine({ stage, candidate, ended, share, leftMs }: TuneProgress): string {
  const head = `${percent(share)}, ${duration(leftMs)} left; ${stage}: ${candidate.name}`;
  if (ended === undefined) return head;
  if (typeof ended === 'string') return `${head}: did not work, ${ended}`;
  const p99 = (ended.paced ?? ended.saturated).p99Ms;
  const latency = p99 === null ? '' : `, p99 ${figure(p99)} ms`;
  return `${head}: ${figure(ended.imagesPerSecond)} images/s${latency}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
