import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { isClosedPipe, write } from './output.js';
import { asText, type ResultLine } from './result-lines.js';

/** Where results go as they come: a file that is replaced, or standard output. */
export class ResultsFile {
  readonly #stream: NodeJS.WritableStream;
  readonly #close: () => Promise<void>;

  constructor(path: string, standardOutput: NodeJS.WritableStream) {
    if (path === '-') {
      this.#stream = standardOutput;
      this.#close = () => Promise.resolve();
      return;
    }
    // Errors are also told to whoever writes.
    const file = createWriteStream(path).on('error', () => undefined);
    this.#stream = file;
    this.#close = () => finished(file.end());
  }

  /** @throws when it cannot be written, which ends everything */
  async write(lines: readonly ResultLine[]): Promise<void> {
    await write(this.#stream, asText(lines)).catch(explain);
  }

  async close(): Promise<void> {
    await this.#close().catch(explain);
  }
}

function explain(error: unknown): never {
  if (isClosedPipe(error)) throw error;
  throw new Error(`cannot write the results: ${(error as Error).message}`, { cause: error });
}
