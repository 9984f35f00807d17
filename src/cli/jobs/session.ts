import { JobsClient, type Connection } from './client.js';
import type { JobsContext } from './context.js';
import { persist, type Persistence } from './persist.js';
import { span } from './span.js';

/** A client for one command, and how long it persists. */
export class Session {
  readonly client: JobsClient;
  readonly context: JobsContext;

  constructor(connection: Connection, context: JobsContext) {
    this.client = new JobsClient(connection, context.interrupt);
    this.context = context;
  }

  /** Waits for a busy server, but not for one that is away, unless there is patience. */
  how(patienceMs = 0): Persistence {
    const { clock, interrupt: signal, err } = this.context;
    return {
      clock,
      patienceMs,
      signal,
      onTrouble: (error, delayMs) => {
        err.write(`${error.brief}; next try in ${span(delayMs)}\n`);
      },
    };
  }

  ask<T>(request: (client: JobsClient) => Promise<T>): Promise<T> {
    return persist(() => request(this.client), this.how());
  }
}
