/** What is needed of standard error. */
export interface Screen {
  readonly isTTY: boolean;
  readonly columns: number;
  write(text: string): unknown;
}

/** A line that is redrawn where a person looks on, and left out where a file collects the output. */
export class ProgressLine {
  readonly #out: Screen;

  constructor(out: Screen) {
    this.#out = out;
  }

  draw(text: string): void {
    // Some terminals do not say how wide they are; a longer line would not be redrawn but repeated.
    const width = this.#out.columns > 0 ? this.#out.columns : 80;
    if (this.#out.isTTY) this.#out.write(`\r\x1b[K${text.slice(0, width - 1)}`);
  }

  /** Leaves this line behind in both cases. */
  done(text: string): void {
    this.#out.write(`${this.#out.isTTY ? '\r\x1b[K' : ''}${text}\n`);
  }
}
