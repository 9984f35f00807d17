import { enter } from '../admission/entrance.js';
import type { Visitor } from '../admission/gate.js';
import type { Tenant } from '../admission/tenant.js';
import { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import type { ImageInfo } from '../image/info.js';
import type { ServedModel } from '../models/served-model.js';
import type { Log } from '../telemetry/log.js';
import { FrontImage } from './front-image.js';
import type { ToFront, ToServer } from './protocol.js';

export interface DeskHost {
  readonly models: readonly ServedModel[];
  /** By the numbers that fronts use. */
  readonly tenants: readonly Tenant[];
  readonly log: Log;
  readonly send: (message: ToFront) => void;
}

interface Entry {
  readonly model: ServedModel;
  readonly visitor: Visitor;
  readonly cancellation: Cancellation;
  isRunning: boolean;
}

type Message<Name extends ToServer[0]> = Extract<ToServer, readonly [Name, ...unknown[]]>;
type Question = Message<'enter'> | Message<'assess'> | Message<'order'>;

interface Order {
  readonly info: ImageInfo;
  readonly threshold: number;
  readonly bytes: number;
}

/** What the server process does for the requests of one front. */
export class FrontDesk {
  readonly #host: DeskHost;
  readonly #entries = new Map<number, Entry>();
  readonly #images = new Map<number, FrontImage>();
  readonly #crowded: boolean[];

  constructor(host: DeskHost) {
    this.#host = host;
    this.#crowded = host.models.map(() => false);
  }

  /** Requests that nobody has answered yet. */
  get size(): number {
    return this.#entries.size;
  }

  /** At which models somebody would have to wait, where that has changed. */
  crowdNews(): ToFront[] {
    const news: ToFront[] = [];
    for (const [index, { gate }] of this.#host.models.entries()) {
      const { isCrowded } = gate;
      if (this.#crowded[index] === isCrowded) continue;
      this.#crowded[index] = isCrowded;
      news.push(['crowded', index, isCrowded]);
    }
    return news;
  }

  assess(question: Question): void {
    const seq = question[1];
    const { model, visitor } = this.#read(question);
    const refusal = model.gate.isExpected(visitor.id) ? undefined : model.gate.assess(visitor);
    if (refusal === undefined) this.#host.send(['assessed', seq]);
    else {
      const { code, detail, retryAfterSeconds } = refusal;
      this.#host.send(['assessed', seq, code, detail, retryAfterSeconds]);
    }
  }

  enter(question: Question): void {
    const seq = question[1];
    const entry = this.#enter(question);
    if (entry instanceof ShoalError) {
      const { code, message, retryAfterSeconds } = entry;
      this.#host.send(['refused', seq, code, message, retryAfterSeconds ?? null]);
    } else {
      this.#host.send(['entered', seq]);
    }
  }

  order(order: Message<'order'>): void {
    const [, seq, , , , , bytes, , info, threshold] = order;
    const entry = this.#enter(order);
    if (entry instanceof ShoalError) {
      const { code, message, retryAfterSeconds } = entry;
      this.#host.send(['failed', seq, code, message, retryAfterSeconds ?? null, null]);
    } else {
      this.#predict(seq, entry, { info, threshold, bytes });
    }
  }

  #enter(question: Question): Entry | ShoalError {
    const { model, visitor } = this.#read(question);
    try {
      const entered = enter(model.gate, visitor);
      const cancellation = new Cancellation();
      const entry = { model, visitor: entered, cancellation, isRunning: false };
      this.#entries.set(question[1], entry);
      return entry;
    } catch (error) {
      return this.#shown(error);
    }
  }

  predict([, seq, info, threshold, bytes]: Message<'predict'>): void {
    const entry = this.#entries.get(seq);
    if (entry !== undefined) this.#predict(seq, entry, { info, threshold, bytes });
  }

  #predict(seq: number, entry: Entry, order: Order): void {
    const image = new FrontImage(seq, order.bytes, {
      send: this.#host.send,
      onDone: () => {
        this.#images.delete(seq);
        // An answer says the same; without one the front would keep it.
        if (entry.cancellation.reason !== undefined) this.#host.send(['release', seq]);
      },
    });
    this.#images.set(seq, image);
    entry.isRunning = true;
    const run = (): void => {
      void this.#run(entry, image, order);
    };
    if (entry.model.quarantine.mayHold(order.bytes)) image.askHash(run);
    else run();
  }

  async #run(entry: Entry, image: FrontImage, order: Order): Promise<void> {
    const { model, visitor, cancellation } = entry;
    const { info, threshold, bytes } = order;
    const { seq } = image;
    const { deadline, isBackground } = visitor;
    const received = performance.now();
    let admitMs: number | undefined;
    try {
      const predictedMs = model.gate.predictMs(visitor);
      const { detections, timings, batch } = await model.predict(
        { image, info, threshold, deadline, isBackground, cancellation },
        { ...visitor, bytes },
        () => {
          admitMs = performance.now() - received;
        },
      );
      const { decodeMs, inferMs, postMs } = timings;
      const times = [decodeMs, inferMs, postMs] as const;
      this.#host.send(['answer', seq, detections, ...times, batch.size, predictedMs, admitMs ?? 0]);
    } catch (error) {
      if (cancellation.reason === undefined) {
        const { code, message, retryAfterSeconds } = this.#shown(error);
        this.#host.send(['failed', seq, code, message, retryAfterSeconds ?? null, admitMs ?? null]);
      }
    }
    entry.isRunning = false;
    this.leave(seq);
    image.settle();
  }

  cancel([, seq]: Message<'cancel'>): void {
    const late = new ShoalError('deadline_exceeded', 'There was no answer in time.');
    this.#entries.get(seq)?.cancellation.cancel(late);
  }

  /** It is over; when it has no answer yet, its client has left. */
  leave(seq: number): void {
    const entry = this.#entries.get(seq);
    if (entry === undefined) return;
    this.#entries.delete(seq);
    if (entry.isRunning) entry.cancellation.cancel(new Error('the client closed the connection'));
    entry.visitor.tenant.leave();
  }

  hashed([, seq, hash]: Message<'hashed'>): void {
    this.#images.get(seq)?.hashed(hash);
  }

  unsent([, seq, engine]: Message<'unsent'>): void {
    this.#images.get(seq)?.unsent(engine);
  }

  /** The front is gone: nobody waits for its requests any more. */
  close(): void {
    for (const seq of [...this.#entries.keys()]) this.leave(seq);
    for (const image of [...this.#images.values()]) image.lost();
  }

  #read([, , model, tenant, id, isBackground, bytes, timeLeftMs]: Question): {
    model: ServedModel;
    visitor: Visitor;
  } {
    return {
      model: this.#host.models[model] as ServedModel,
      visitor: {
        id,
        tenant: this.#host.tenants[tenant] as Tenant,
        isBackground,
        bytes,
        deadline: performance.now() + timeLeftMs,
        isExpected: false,
      },
    };
  }

  #shown(error: unknown): ShoalError {
    if (error instanceof ShoalError) return error;
    this.#host.log.error({ err: error }, 'unexpected error');
    return new ShoalError('internal_error', 'Something went wrong; the log says more.');
  }
}
