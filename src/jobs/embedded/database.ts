import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from '@photostructure/sqlite';
import { closeSync, openSync } from 'node:fs';
import { ShoalError } from '../../errors.js';

type Value = string | number | null | Uint8Array;
export type Row = Readonly<Record<string, Value>>;

/** SQLite's own numbers, without the details in their upper bytes. */
const [BUSY, READONLY, IO_ERROR, CORRUPT, FULL, CANNOT_OPEN] = [5, 8, 10, 11, 13, 14];
/** A server that has just been told to stop may still hold the folder for a moment. */
const BUSY_TIMEOUT_MS = 3000;

/** The folder belongs to another process. */
export class DatabaseBusyError extends Error {
  override readonly name = 'DatabaseBusyError';
}

/** The only place that touches the SQL driver. Calls block, so it lives on a thread of its own. */
export class Database {
  readonly #driver: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();

  /** @throws DatabaseBusyError when another process has it */
  constructor(path: string) {
    // Images are nobody else's business; SQLite gives its other files the same rights.
    closeSync(openSync(path, 'a', 0o600));
    this.#driver = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // Before WAL: then the whole file is locked for one process, and the kernel lets go of it
      // however that process ends.
      this.#driver.exec('pragma locking_mode = exclusive');
      // Only takes effect in a new file; lets it shrink again.
      this.#driver.exec('pragma auto_vacuum = incremental');
      this.#driver.exec('pragma journal_mode = wal');
      // A commit is on disk when it returns, also if the power fails right after.
      this.#driver.exec('pragma synchronous = full');
      this.#driver.exec('pragma journal_size_limit = 67108864');
      this.#driver.exec('pragma foreign_keys = on');
      // Takes the lock now rather than with the first job.
      this.#driver.exec('begin exclusive; commit');
    } catch (error) {
      this.#driver.close();
      throw codeOf(error) === BUSY ? new DatabaseBusyError('the database is locked') : error;
    }
  }

  run(sql: string, ...values: Value[]): number {
    return this.#prepare(sql).run(...values).changes;
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /** Several statements without values. */
  script(sql: string): void {
    this.#driver.exec(sql);
  }

  /** All or nothing. Within another one it is a part that can fail by itself. */
  transaction<T>(work: () => T): T {
    const isOuter = !this.#driver.isTransaction;
    this.#driver.exec(isOuter ? 'begin immediate' : 'savepoint part');
    try {
      const value = work();
      this.#driver.exec(isOuter ? 'commit' : 'release part');
      return value;
    } catch (error) {
      // After some errors SQLite has rolled everything back by itself.
      if (this.#driver.isTransaction) {
        this.#driver.exec(isOuter ? 'rollback' : 'rollback to part; release part');
      }
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#driver.close();
  }

  #prepare(sql: string): StatementSyncInstance {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#driver.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** What clients are told when the database fails. */
export function storeError(error: unknown): ShoalError {
  if (error instanceof ShoalError) return error;
  if (codeOf(error) === FULL) {
    return new ShoalError('store_full', 'The disk that jobs are kept on is full.', {
      cause: error,
      retryAfterSeconds: 5,
    });
  }
  return new ShoalError('store_unavailable', 'The disk that jobs are kept on fails.', {
    cause: error,
    retryAfterSeconds: 5,
  });
}

/** After these, what the driver has in memory may not be what is on disk. */
export function isBroken(error: unknown): boolean {
  return [IO_ERROR, CORRUPT, READONLY, CANNOT_OPEN].includes(codeOf(error) ?? 0);
}

function codeOf(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
