/** What the system writes at once, so that lines of several processes do not end up in each other. */
const MAX_WRITE_BYTES = 4096;
/** What is kept for whoever reads the log: some thousand lines. */
const MAX_PENDING_BYTES = 2 ** 20;
const RETRY_MS = 20;
/** A disk that is full or a reader that has gone may be another one tomorrow. */
const BROKEN_RETRY_MS = 1000;
/** How long the end of a process waits for a reader, so that its last words are not lost. */
const LAST_WORDS_MS = 500;

type Outcome = 'done' | 'later' | 'broken';

/** What is written to; it throws what `writeSync` throws. */
export interface LogSink {
  write(bytes: Buffer): number;
  sleep(ms: number): void;
}

/**
 * Takes lines and writes those of one turn of the event loop together. Whoever reads them may be
 * slow or stuck: then they are kept, and beyond a limit left out and counted, but never waited for.
 */
export class LogOutput {
  readonly #sink: LogSink;
  readonly #format: (line: string) => string;
  #lines: Buffer[] = [];
  #bytes = 0;
  /** A write was cut off in the middle of a line: how much of the first one is out. */
  #written = 0;
  #isScheduled = false;
  /** Since the last line that said so. */
  #unsaid = 0;
  /** Since the start. */
  dropped = 0;

  /** @param format what becomes of a line of JSON */
  constructor(sink: LogSink, format: (line: string) => string = (line) => line) {
    this.#sink = sink;
    this.#format = format;
  }

  write(line: string): void {
    if (this.#bytes >= MAX_PENDING_BYTES) {
      this.dropped++;
      this.#unsaid++;
      return;
    }
    this.#append(line);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#continue();
    });
  }

  /** Writes what can be written now. pino calls it by this name. */
  flush(done?: () => void): void {
    this.#writeAll();
    done?.();
  }

  /** The process ends: whoever reads has a little time to catch up. */
  end(): void {
    for (
      let waited = 0;
      this.#writeAll() === 'later' && waited < LAST_WORDS_MS;
      waited += RETRY_MS
    ) {
      this.#sink.sleep(RETRY_MS);
    }
  }

  #continue(): void {
    const outcome = this.#writeAll();
    this.#isScheduled = outcome !== 'done';
    if (outcome === 'done') return;
    setTimeout(
      () => {
        this.#continue();
      },
      outcome === 'later' ? RETRY_MS : BROKEN_RETRY_MS,
    ).unref();
  }

  #append(line: string): void {
    const bytes = Buffer.from(this.#format(line));
    this.#lines.push(bytes);
    this.#bytes += bytes.length;
  }

  #writeAll(): Outcome {
    while (this.#lines.length > 0) {
      const next = this.#next();
      try {
        this.#wrote(this.#sink.write(next));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        return code === 'EAGAIN' || code === 'EBUSY' ? 'later' : 'broken';
      }
      if (this.#lines.length === 0 && this.#unsaid > 0) this.#append(this.#confession());
    }
    return 'done';
  }

  /** Whole lines, as many as go out at once; a longer one alone. */
  #next(): Buffer {
    let [count, bytes] = [1, (this.#lines[0]?.length ?? 0) - this.#written];
    for (; count < this.#lines.length; count++) {
      const more = this.#lines[count]?.length ?? 0;
      if (bytes + more > MAX_WRITE_BYTES) break;
      bytes += more;
    }
    return Buffer.concat(this.#lines.slice(0, count)).subarray(this.#written);
  }

  #wrote(bytes: number): void {
    this.#bytes -= bytes;
    let left = this.#written + bytes;
    let count = 0;
    for (const { length } of this.#lines) {
      if (left < length) break;
      left -= length;
      count++;
    }
    this.#lines.splice(0, count);
    this.#written = left;
  }

  #confession(): string {
    const count = this.#unsaid;
    this.#unsaid = 0;
    const line = { level: 'warn', time: new Date().toISOString(), dropped: count };
    const msg = 'log lines were left out, since nobody read them in time';
    return `${JSON.stringify({ ...line, msg })}\n`;
  }
}
