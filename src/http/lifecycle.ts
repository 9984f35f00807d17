import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** How long an idle connection may still bring a request after the last answer. */
const LINGER_MS = 250;

/**
 * Counts requests and ends the server without losing one. While it drains, every answer carries
 * `Connection: close`, so that busy keep-alive clients leave by themselves; idle connections are
 * closed only when no request has come for a moment.
 */
export class Lifecycle {
  #inFlight = 0;
  #isDraining = false;
  #lastActivity = 0;
  #onIdle: (() => void) | undefined;

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  requestStarted(): void {
    this.#inFlight++;
    this.#lastActivity = performance.now();
  }

  requestEnded(): void {
    this.#inFlight--;
    this.#lastActivity = performance.now();
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Readiness goes off at once. */
  startDraining(): void {
    this.#isDraining = true;
  }

  /**
   * Resolves with the number of requests that were cut off after `graceMs`.
   * @param acceptMs how long new connections are still taken
   */
  async drain(server: Server, acceptMs: number, graceMs: number): Promise<number> {
    const giveUpAt = performance.now() + graceMs;
    await sleep(Math.min(acceptMs, graceMs));
    // http.Server.close would also cut idle connections, on which a request may be arriving.
    NetServer.prototype.close.call(server);
    for (;;) {
      const left = giveUpAt - performance.now();
      if (left <= 0) break;
      if (this.#inFlight > 0) {
        await this.#idleWithin(left);
        continue;
      }
      const quietFor = performance.now() - this.#lastActivity;
      if (quietFor >= LINGER_MS) break;
      await sleep(Math.min(LINGER_MS - quietFor, left));
    }
    const cutOff = this.#inFlight;
    server.closeAllConnections();
    return cutOff;
  }

  #idleWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#onIdle = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#onIdle = done;
    });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
