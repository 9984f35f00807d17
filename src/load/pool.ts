import { Connection } from './connection.js';
import type { Target } from './target.js';

/**
 * Connections to one server, never more than `limit`. The one used last is used next, so that no
 * more stay busy than are needed.
 */
export class ConnectionPool {
  readonly #target: Target;
  readonly #limit: number;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];

  constructor(target: Target, limit: number) {
    this.#target = target;
    this.#limit = limit;
  }

  /** `undefined` when all are busy and there may be no more. */
  acquire(): Connection | undefined {
    const now = performance.now();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isReusableAt(now)) return idle;
      idle.destroy();
    }
    if (this.#open.size >= this.#limit) return undefined;
    const connection = new Connection(this.#target, (closed) => this.#open.delete(closed));
    this.#open.add(connection);
    return connection;
  }

  release(connection: Connection): void {
    connection.whenFlushed(() => {
      if (connection.isOpen) this.#idle.push(connection);
    });
  }

  closeAll(): void {
    for (const connection of [...this.#open]) connection.destroy();
  }
}
