import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { runJobs } from '../../src/cli/jobs/command.js';
import type { JobsContext } from '../../src/cli/jobs/context.js';
import type { ResultLine } from '../../src/cli/jobs/result-lines.js';

/** Runs `shoal jobs` in this process, with a clock on which waiting takes no time. */
export class JobsRun {
  stdout = '';
  stderr = '';
  /** What was slept, in order. */
  readonly slept: number[] = [];
  readonly interrupt = new AbortController();
  answer: string | undefined;
  isTerminal = false;
  /** Is called with everything written to standard output; what it throws is a failed write. */
  onWrite: (text: string) => void = () => undefined;
  /** Happens while the command sleeps. */
  onSleep: () => Promise<void> = () => Promise.resolve();
  readonly #url: string;
  #now = Date.parse('2026-11-15T12:10:00Z');

  constructor(url: string) {
    this.#url = url;
  }

  get lines(): ResultLine[] {
    return this.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ResultLine);
  }

  run(...args: string[]): Promise<number> {
    const [name = '', ...rest] = args;
    return runJobs([name, '--url', this.#url, ...rest], this.#context());
  }

  #context(): JobsContext {
    const out = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        try {
          this.onWrite(chunk.toString());
          this.stdout += chunk.toString();
          done();
        } catch (error) {
          done(error as Error);
        }
      },
    });
    const { answer } = this;
    return {
      out: out.on('error', () => undefined),
      err: { isTTY: this.isTerminal, columns: 100, write: (text) => (this.stderr += text) },
      interrupt: this.interrupt.signal,
      clock: {
        now: () => this.#now,
        random: () => 0,
        sleep: async (ms, signal) => {
          signal.throwIfAborted();
          this.slept.push(ms);
          this.#now += ms;
          await this.onSleep();
        },
      },
      ...(answer !== undefined && {
        ask: (question: string) => {
          this.stderr += question;
          return Promise.resolve(answer);
        },
      }),
    };
  }
}

/** A new folder with these files. */
export function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const root = mkdtempSync(join(tmpdir(), 'shoal-jobs-'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}
