import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';
import { EngineLink, loadingPatienceMs } from './engine-link.js';
import type { EngineConfig, ItemOutcome, Measured, Ready } from './messages.js';
import { Pulse } from './pulse.js';

/** How long a check may take; whoever asks for it has a limit of its own. */
const CHECK_MS = 600_000;

interface Waiter<Value> {
  resolve(value: Value): void;
  reject(error: Error): void;
}

/** An engine process that serves nobody: it loads the model, is tried, and is killed. */
export class EngineProbe {
  readonly #link: EngineLink;
  /** Whoever measures has no limit, so one that stands still must be noticed. */
  readonly #pulse: Pulse;
  readonly #ready: Promise<Ready>;
  readonly #waiters = new Set<Waiter<never>>();
  #onMeasured: Waiter<Measured> | undefined;
  readonly #onChecked = new Map<number, Waiter<ItemOutcome>>();
  #checks = 0;
  #ended: Error | undefined;

  /** @param niceness above 0 it gives way to everything else on the machine */
  constructor(config: EngineConfig, niceness: number) {
    let onReady: Waiter<Ready> | undefined;
    this.#ready = this.#wait((waiter) => {
      onReady = waiter;
    });
    // Whoever waits for the start or for an answer is told; nobody else needs to be.
    this.#ready.catch(() => undefined);
    this.#link = new EngineLink(
      config,
      {
        onReady: (ready) => {
          this.#pulse.start();
          onReady?.resolve(ready);
        },
        onResults: ({ items }) => {
          for (const outcome of items) this.#onChecked.get(outcome.id)?.resolve(outcome);
        },
        onPong: () => {
          this.#pulse.heard();
        },
        onMeasured: (measured) => this.#onMeasured?.resolve(measured),
        onEnd: (reason) => {
          this.#pulse.stop();
          this.#ended = new Error(reason);
          for (const waiter of this.#waiters) waiter.reject(this.#ended);
        },
      },
      niceness,
    );
    this.#pulse = new Pulse(loadingPatienceMs(config), {
      ask: () => {
        this.#link.sendPing();
      },
      onSilence: () => {
        this.#link.kill('it did not answer while it was measured and was killed');
      },
    });
  }

  /** Resolves with the provider when the model is loaded. */
  async start(): Promise<string> {
    return (await this.#ready).provider;
  }

  /** The same, with all that the engine said. */
  ready(): Promise<Ready> {
    return this.#ready;
  }

  /** One at a time. */
  measure(batch: number, runs: number): Promise<Measured> {
    return this.#wait((waiter) => {
      this.#onMeasured = waiter;
      this.#link.sendMeasure({ batch, runs });
    });
  }

  /** What the model finds in a picture, by the way that served pictures go. */
  async check(
    file: Uint8Array,
    image: ImageInfo,
    threshold: number,
  ): Promise<readonly Detection[]> {
    const id = ++this.#checks;
    const outcome = await this.#wait<ItemOutcome>((waiter) => {
      this.#onChecked.set(id, waiter);
      const wish = { threshold, timeLeftMs: CHECK_MS, isBackground: false, rank: 0 };
      this.#link.sendItem({ id, image, ...wish }, [file]);
    });
    this.#onChecked.delete(id);
    if ('detections' in outcome) return outcome.detections;
    throw new Error('error' in outcome ? outcome.error.detail : `it was ${outcome.dropped}`);
  }

  kill(): void {
    this.#link.kill();
  }

  /** Rejects when the engine ends first. */
  #wait<Value>(start: (waiter: Waiter<Value>) => void): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      const waiter: Waiter<Value> = {
        resolve: (value) => {
          this.#waiters.delete(waiter);
          resolve(value);
        },
        reject,
      };
      this.#waiters.add(waiter);
      start(waiter);
    });
  }
}
