import { isMainThread, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ShoalError } from '../../errors.js';
import { failpoint } from '../failpoint.js';
import { wasStopped } from './claims.js';
import { DatabaseBusyError, isBroken, storeError } from './database.js';
import { type OperationName, Operations } from './operations.js';
import { END, type StoreMessage, type StoreRequest, type ThreadConfig } from './thread-messages.js';

const SWEEP_MS = 500;
/** More at once would make the first wait for the last. */
const MAX_GROUP = 64;

type Callable = Record<OperationName, (...values: readonly unknown[]) => unknown>;
type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * The thread that owns the database. What has arrived while the disk was busy is written together:
 * one wait for the disk for all of it, and nobody is answered before that wait is over.
 */
class StoreThread {
  readonly #send: (message: StoreMessage) => void;
  readonly #operations: Operations;
  readonly #timer: NodeJS.Timeout;
  readonly #leaseMs: number;
  /** By the clock that leases go by, which also goes on while the machine sleeps. */
  #sweptAt = Date.now();
  #broken: unknown;

  constructor(config: ThreadConfig, send: (message: StoreMessage) => void) {
    this.#send = send;
    this.#leaseMs = config.limits.leaseMs;
    this.#operations = new Operations(config);
    this.#timer = setInterval(() => {
      this.sweep();
    }, SWEEP_MS);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#operations.database.close();
  }

  answer(requests: readonly StoreRequest[]): void {
    const outcomes = this.#runTogether(requests) ?? requests.map((one) => this.#runAlone(one));
    this.#tellChanges();
    if (requests.some(({ operation }) => operation === 'submit')) failpoint('submit.durable');
    if (requests.some(({ operation }) => operation === 'settle')) failpoint('verdict.durable');
    for (const [at, { seq }] of requests.entries()) {
      const outcome = outcomes[at];
      if (outcome !== undefined && 'value' in outcome) {
        this.#send({ kind: 'answer', seq, value: outcome.value });
        continue;
      }
      const { code, message, retryAfterSeconds } = storeError(outcome?.error);
      const cause = causeOf(outcome?.error);
      this.#send({ kind: 'error', seq, code, message, cause, retryAfterSeconds });
    }
    this.#endIfBroken();
  }

  sweep(): void {
    const now = Date.now();
    const isLate = wasStopped(now - this.#sweptAt, SWEEP_MS, this.#leaseMs);
    this.#sweptAt = now;
    this.#runAlone({ seq: 0, operation: 'sweep', values: [isLate] });
    this.#tellChanges();
    this.#endIfBroken();
  }

  /** All in one transaction; `undefined` when that failed, and with it everything. */
  #runTogether(requests: readonly StoreRequest[]): Outcome[] | undefined {
    if (requests.length < 2) return undefined;
    try {
      const operations = this.#operations;
      return operations.database.transaction(() => {
        const outcomes = requests.map((request) => this.#attempt(operations, request));
        failpoint('submit.written');
        return outcomes;
      });
    } catch (error) {
      this.#afterFailure(error);
      return undefined;
    }
  }

  #runAlone(request: StoreRequest): Outcome {
    try {
      const operations = this.#operations;
      return operations.database.transaction(() => {
        const outcome = this.#attempt(operations, request);
        if (request.operation === 'submit') failpoint('submit.written');
        return outcome;
      });
    } catch (error) {
      this.#afterFailure(error);
      return { error };
    }
  }

  /** A refusal is an answer of its own; a failing disk concerns everybody. */
  #attempt(operations: Operations, { operation, values }: StoreRequest): Outcome {
    try {
      const value = operations.database.transaction(() =>
        (operations as unknown as Callable)[operation](...values),
      );
      return { value };
    } catch (error) {
      if (error instanceof ShoalError) return { error };
      throw error;
    }
  }

  #afterFailure(error: unknown): void {
    // What was noted about a transaction that failed has not happened.
    this.#operations.takeChanges();
    if (isBroken(error)) this.#broken ??= error;
  }

  /** What the driver has in memory may not be what is on disk, so another thread begins anew. */
  #endIfBroken(): void {
    if (this.#broken === undefined) return;
    this.#send({ kind: 'broken', cause: causeOf(this.#broken) });
    process.exit(1);
  }

  #tellChanges(): void {
    const changes = this.#operations.takeChanges();
    if (changes.length > 0) this.#send({ kind: 'changes', changes });
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** Images are given away, not copied. */
function ownedBytes(message: StoreMessage): ArrayBuffer[] {
  const value = message.kind === 'answer' ? message.value : undefined;
  if (!(value instanceof Uint8Array) || value.byteLength !== value.buffer.byteLength) return [];
  return [value.buffer as ArrayBuffer];
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const send = (message: StoreMessage): void => {
    port.postMessage(message, ownedBytes(message));
  };
  try {
    const thread = new StoreThread(workerData as ThreadConfig, send);
    port.on('message', (first: StoreRequest | typeof END) => {
      const arrived = [first];
      while (arrived.length < MAX_GROUP) {
        const next = receiveMessageOnPort(port) as { message: typeof first } | undefined;
        if (next === undefined) break;
        arrived.push(next.message);
      }
      const requests = arrived.filter((one) => one !== END);
      if (requests.length > 0) thread.answer(requests);
      if (requests.length === arrived.length) return;
      thread.close();
      port.close();
    });
    send({ kind: 'open' });
  } catch (error) {
    const isBusy = error instanceof DatabaseBusyError;
    send({ kind: 'closed', isBusy, message: (error as Error).message });
  }
}
