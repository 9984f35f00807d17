import type { Wheel } from '../gpu/wheels/package-index.js';
import { ProgressLine, type Screen } from './bench-progress.js';
import { size } from './gpu-text.js';

const REDRAW_MS = 100;
const BAR_WIDTH = 24;

/** One line per package: redrawn as a bar where a person looks on, written when done elsewhere. */
export class InstallProgress {
  readonly #line: ProgressLine;
  readonly #now: () => number;
  #startedAt: number;
  #drawnAt = -Infinity;
  /** Downloaded for the current package, and what was there before. */
  #bytes = 0;
  #had: number | undefined;

  constructor(screen: Screen, now: () => number = () => performance.now()) {
    this.#line = new ProgressLine(screen);
    this.#now = now;
    this.#startedAt = now();
  }

  downloading(wheel: Wheel, bytes: number, total: number | undefined): void {
    if (this.#had === undefined) {
      this.#had = bytes;
      this.#startedAt = this.#now();
    }
    this.#bytes = bytes;
    this.#draw(wheel, 'fetching', bytes, total);
  }

  unpacking(wheel: Wheel, bytes: number, total: number | undefined): void {
    this.#draw(wheel, 'unpacking', bytes, total);
  }

  done({ name, version }: Wheel): void {
    const seconds = (this.#now() - this.#startedAt) / 1000;
    const kept = this.#had ?? 0;
    const resumed = kept > 0 ? `, ${size(kept)} were there` : '';
    this.#line.done(
      `  ${name} ${version}: ${size(this.#bytes)}${resumed}, ${seconds.toFixed(1)} s`,
    );
    this.#had = undefined;
    this.#bytes = 0;
    this.#startedAt = this.#now();
  }

  /** Whatever else there is to say must not stand in the middle of a bar. */
  say(text: string): void {
    this.#line.done(text);
  }

  #draw({ name }: Wheel, what: string, bytes: number, total: number | undefined): void {
    const now = this.#now();
    if (now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    this.#line.draw(`  ${name}  ${bar(bytes, total)}  ${what}`);
  }
}

export function bar(bytes: number, total: number | undefined): string {
  if (total === undefined || total === 0) return size(bytes);
  const share = Math.min(1, bytes / total);
  const filled = Math.round(share * BAR_WIDTH);
  const drawn = '█'.repeat(filled).padEnd(BAR_WIDTH, '░');
  return `${drawn} ${(share * 100).toFixed(0).padStart(3)} %  ${size(bytes)} of ${size(total)}`;
}
