import { Worker } from 'node:worker_threads';
import { ShoalError } from '../../errors.js';
import type { Change } from './job-table.js';
import type { OperationName, Operations } from './operations.js';
import { END, type StoreMessage, type StoreRequest, type ThreadConfig } from './thread-messages.js';

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface ThreadEvents {
  onChanges(changes: readonly Change[]): void;
  onBroken(cause: string): void;
  /** It ended by itself; nothing can be asked any more. */
  onDeath(): void;
}

/** The folder belongs to another process. */
export class FolderBusyError extends Error {
  override readonly name = 'FolderBusyError';
}

/** This side of the store's thread: asks by name, and waits for the answer. */
export class ThreadLink {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextSeq = 1;
  #isOver = false;
  readonly #opened: Promise<void>;

  constructor(entry: URL, config: ThreadConfig, events: ThreadEvents) {
    this.#worker = new Worker(entry, { name: 'jobs', workerData: config });
    this.#opened = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: StoreMessage) => {
        switch (message.kind) {
          case 'open':
            resolve();
            break;
          case 'closed':
            reject(
              message.isBusy ? new FolderBusyError(message.message) : new Error(message.message),
            );
            break;
          case 'changes':
            events.onChanges(message.changes);
            break;
          case 'broken':
            events.onBroken(message.cause);
            break;
          case 'answer':
            this.#take(message.seq)?.resolve(message.value);
            break;
          case 'error': {
            const { code, retryAfterSeconds, cause } = message;
            const options = {
              cause,
              ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
            };
            this.#take(message.seq)?.reject(new ShoalError(code, message.message, options));
          }
        }
      });
      this.#worker.on('error', reject);
      this.#worker.on('exit', () => {
        const isExpected = this.#isOver;
        this.#isOver = true;
        reject(new Error('the store ended while it was opened'));
        for (const pending of this.#pending.values()) pending.reject(gone());
        this.#pending.clear();
        if (!isExpected) events.onDeath();
      });
    });
  }

  opened(): Promise<void> {
    return this.#opened;
  }

  ask<Name extends OperationName>(
    operation: Name,
    ...values: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    if (this.#isOver) return Promise.reject(gone());
    const seq = this.#nextSeq++;
    return new Promise((resolve, reject) => {
      this.#pending.set(seq, { resolve, reject });
      this.#worker.postMessage({ seq, operation, values } satisfies StoreRequest);
    });
  }

  /** What was asked before is answered before. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const exit = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.postMessage(END);
    await exit;
  }

  /** Without a last word, as in a crash. */
  async kill(): Promise<void> {
    this.#isOver = true;
    await this.#worker.terminate();
  }

  #take(seq: number): Pending | undefined {
    const pending = this.#pending.get(seq);
    this.#pending.delete(seq);
    return pending;
  }
}

function gone(): ShoalError {
  return new ShoalError('store_unavailable', 'The job store is being restarted.', {
    retryAfterSeconds: 1,
  });
}
