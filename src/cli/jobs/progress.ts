import { ProgressLine, type Screen } from '../bench-progress.js';
import type { Clock } from './context.js';
import { Refusal, type Silence } from './failures.js';
import {
  type Mark,
  progressBar,
  progressText,
  rateOf,
  reachedOf,
  type Tally,
} from './progress-text.js';
import { span } from './span.js';

const REDRAW_MS = 500;
const PLAIN_MS = 10_000;
/** The same trouble is told again after this. */
const NOTE_MS = 30_000;
const MARKS = 60;

/** A bar where a person looks on, and a line now and then where a file collects the output. */
export class SubmitProgress {
  readonly #line: ProgressLine;
  readonly #clock: Clock;
  readonly #isWaiting: boolean;
  readonly #timer: NodeJS.Timeout;
  readonly #noted = new Map<string, number>();
  #marks: readonly Mark[];
  #tally: Tally;

  constructor(screen: Screen, clock: Clock, total: number, isWaiting: boolean) {
    this.#line = new ProgressLine(screen);
    this.#clock = clock;
    this.#isWaiting = isWaiting;
    this.#marks = [{ at: clock.now(), reached: 0 }];
    this.#tally = { total, submitted: 0, done: 0, failed: 0, refused: 0 };
    const draw = (): void => {
      const rate = this.#rate();
      if (screen.isTTY) this.#line.draw(progressBar(this.#tally, rate, isWaiting));
      else this.#line.done(progressText(this.#tally, rate, isWaiting));
    };
    this.#timer = setInterval(draw, screen.isTTY ? REDRAW_MS : PLAIN_MS);
  }

  get tally(): Tally {
    return this.#tally;
  }

  add(kind: 'submitted' | 'done' | 'failed' | 'refused', images: number): void {
    this.#tally = { ...this.#tally, [kind]: this.#tally[kind] + images };
  }

  /** Leaves a line behind. */
  tell(text: string): void {
    this.#line.done(text);
  }

  /** Why nothing moves: many requests have the same trouble at once, which is told once. */
  readonly onTrouble = (error: Refusal | Silence, delayMs: number): void => {
    const now = this.#clock.now();
    const kind = error instanceof Refusal ? error.problem.code : error.name;
    const last = this.#noted.get(kind);
    if (last !== undefined && now - last < NOTE_MS) return;
    this.#noted.set(kind, now);
    this.tell(`${error.brief}; next try in ${span(delayMs)}`);
  };

  /** Until it is drawn again; results may go to the same terminal. */
  hide(): void {
    this.#line.draw('');
  }

  stop(): void {
    clearInterval(this.#timer);
    this.hide();
  }

  #rate(): number {
    const reached = reachedOf(this.#tally, this.#isWaiting);
    this.#marks = [...this.#marks, { at: this.#clock.now(), reached }].slice(-MARKS);
    return rateOf(this.#marks);
  }
}
