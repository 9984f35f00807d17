import { EngineLink } from './engine-link.js';
import type { EngineConfig, Measured } from './messages.js';

/** An engine process that serves nobody: it loads the model, measures and is killed. */
export class EngineProbe {
  readonly #link: EngineLink;
  readonly #started: Promise<string>;
  #settle: { resolve(measured: Measured): void; reject(error: Error): void } | undefined;
  #ended: Error | undefined;

  /** @param niceness above 0 it gives way to everything else on the machine */
  constructor(config: EngineConfig, niceness: number) {
    let settleStart: { resolve(provider: string): void; reject(error: Error): void } | undefined;
    this.#started = new Promise((resolve, reject) => {
      settleStart = { resolve, reject };
    });
    // Whoever waits for the start or for a measurement is told; nobody else needs to be.
    this.#started.catch(() => undefined);
    this.#link = new EngineLink(
      config,
      {
        onReady: ({ provider }) => settleStart?.resolve(provider),
        onResults: () => undefined,
        onPong: () => undefined,
        onMeasured: (measured) => this.#settle?.resolve(measured),
        onEnd: (reason) => {
          this.#ended = new Error(reason);
          settleStart?.reject(this.#ended);
          this.#settle?.reject(this.#ended);
        },
      },
      niceness,
    );
  }

  /** Resolves with the provider when the model is loaded. */
  start(): Promise<string> {
    return this.#started;
  }

  /** One at a time. */
  measure(batch: number, runs: number): Promise<Measured> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      this.#settle = { resolve, reject };
      this.#link.sendMeasure({ batch, runs });
    });
  }

  kill(): void {
    this.#link.kill();
  }
}
