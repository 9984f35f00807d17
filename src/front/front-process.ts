import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { Pulse } from '../engine/pulse.js';
import type { MetricValues } from '../telemetry/metrics.js';
import { Channel } from './channel.js';
import { type DeskHost, FrontDesk } from './front-desk.js';
import type { ToFront, ToServer, Welcome } from './protocol.js';
import type { Receiver } from './reception.js';
import { startFront } from './start-front.js';

export interface FrontEvents {
  onReady(): void;
  onBroken(engine: number): void;
  /** What it holds of the budget has changed. */
  onBytes(): void;
  /** What all others hold. */
  othersBytes(front: FrontProcess): number;
  /** The last event, whatever ended the process. */
  onEnd(reason: string): void;
}

/** How long a front may take to start, on a machine that does much else. */
const START_MS = 60_000;
/** How much longer than it was given a front may take to end. */
const SPARE_MS = 2000;
/** How long a front may take to tell its metrics before they are shown without it. */
const COLLECT_MS = 2000;
/** The share of the budget that others may hold before a front is told that nothing else is told. */
const UNTOLD_SHARE = 1 / 64;

/** One front from start to end, as the server process sees it. */
export class FrontProcess implements Receiver {
  readonly #child: ChildProcess;
  readonly #channel: Channel<ToServer, ToFront>;
  readonly #desk: FrontDesk;
  readonly #events: FrontEvents;
  readonly #collecting = new Map<number, (values: MetricValues | undefined) => void>();
  #nextQuestion = 1;
  /** A connection on its way. */
  #handing: { readonly socket: Socket; done(): void } | undefined;
  #onDrained: ((cutOff: number) => void) | undefined;
  #toldBytes = 0;
  readonly #untoldBytes: number;
  readonly #maxConnections: number;
  #connections = 0;
  readonly #pulse: Pulse;
  #isGivenUp = false;
  #deadline: NodeJS.Timeout | undefined;
  #hasEnded = false;
  readonly startedAt = performance.now();
  /** What it holds of the budget. */
  bytes = 0;

  /** @throws when it cannot be started */
  constructor(welcome: Welcome, host: Omit<DeskHost, 'send'>, events: FrontEvents) {
    this.#events = events;
    this.#untoldBytes = welcome.config.max_inflight_bytes * UNTOLD_SHARE;
    this.#maxConnections = welcome.maxConnections;
    const { child, socket } = startFront();
    this.#child = child;
    this.#desk = new FrontDesk({
      ...host,
      send: (message) => {
        this.send(message);
      },
    });
    this.#channel = new Channel<ToServer, ToFront>(socket, {
      onMessage: (message) => {
        this.#handle(message);
      },
      news: () => [...this.#desk.crowdNews(), ...this.#bytesNews()],
      onClose: () => undefined,
    });
    this.#child.on('error', (error) => {
      // Without a process id it was never started, and there may be no other event.
      if (this.#child.pid === undefined) this.#end(error.message);
    });
    this.#child.once('exit', (code, signal) => {
      const how = `it ended with ${signal ?? `code ${String(code)}`}`;
      this.#end(this.#isGivenUp ? 'it did not answer in time and was killed' : how);
    });
    this.#pulse = new Pulse(welcome.config.hang_timeout_ms, {
      ask: () => {
        this.send(['ping']);
      },
      onSilence: () => {
        this.#giveUp();
      },
    });
    this.#giveUpAfter(START_MS);
    this.send(['welcome', welcome]);
  }

  get isFull(): boolean {
    return this.#connections >= this.#maxConnections;
  }

  take(socket: Socket, done: () => void): void {
    this.#connections++;
    this.#handing = { socket, done };
    // Kept open here until it is known to be there: otherwise it would belong to nobody when the
    // front ends in between, and its client would wait for ever.
    this.#child.send('connection', socket, { keepOpen: true }, () => undefined);
  }

  /** The connection itself lives on in the front; here only its descriptor is closed. */
  #handedOver(): void {
    const handing = this.#handing;
    this.#handing = undefined;
    handing?.socket.destroy();
    handing?.done();
  }

  send(message: ToFront): void {
    this.#channel.send(message);
  }

  /** What others hold has changed. */
  tellBytes(): void {
    const change = Math.abs(this.#events.othersBytes(this) - this.#toldBytes);
    if (change > this.#untoldBytes) this.#channel.flush();
  }

  /** `undefined` when it does not answer. */
  collect(): Promise<MetricValues | undefined> {
    const question = this.#nextQuestion++;
    return new Promise((resolve) => {
      const done = (values: MetricValues | undefined): void => {
        clearTimeout(timer);
        this.#collecting.delete(question);
        resolve(values);
      };
      const timer = setTimeout(done, COLLECT_MS, undefined);
      this.#collecting.set(question, done);
      this.send(['collect', question]);
    });
  }

  /** Resolves with the number of requests that were cut off. */
  drain(acceptMs: number, graceMs: number): Promise<number> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#giveUpAfter(graceMs + SPARE_MS);
      this.send(['drain', acceptMs, graceMs]);
    });
  }

  /** The server ends; the front does so as soon as it sees that. */
  stop(): void {
    this.#giveUpAfter(SPARE_MS);
    this.#channel.close();
  }

  /** Whatever it is doing then, nobody can wait for it any longer. */
  #giveUpAfter(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      this.#giveUp();
    }, ms);
  }

  #giveUp(): void {
    this.#isGivenUp = true;
    this.#child.kill('SIGKILL');
  }

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#pulse.stop();
    clearTimeout(this.#deadline);
    const cutOff = this.#desk.size;
    this.#desk.close();
    this.#handing?.socket.destroy();
    for (const done of [...this.#collecting.values()]) done(undefined);
    this.#onDrained?.(cutOff);
    this.bytes = 0;
    this.#events.onEnd(reason);
  }

  #bytesNews(): ToFront[] {
    const bytes = this.#events.othersBytes(this);
    if (bytes === this.#toldBytes) return [];
    this.#toldBytes = bytes;
    return [['bytes', bytes]];
  }

  #handle(message: ToServer): void {
    // What it said with its last breath nobody would ever take back.
    if (this.#hasEnded) return;
    this.#pulse.heard();
    switch (message[0]) {
      case 'ready':
        // While it drains it has another one.
        if (this.#onDrained === undefined) clearTimeout(this.#deadline);
        this.#pulse.start();
        this.#events.onReady();
        break;
      case 'pong':
        break;
      case 'took':
        this.#handedOver();
        break;
      case 'closed':
        this.#connections -= message[1];
        break;
      case 'enter':
        this.#desk.enter(message);
        break;
      case 'assess':
        this.#desk.assess(message);
        break;
      case 'order':
        this.#desk.order(message);
        break;
      case 'predict':
        this.#desk.predict(message);
        break;
      case 'cancel':
        this.#desk.cancel(message);
        break;
      case 'leave':
        this.#desk.leave(message[1]);
        break;
      case 'hashed':
        this.#desk.hashed(message);
        break;
      case 'unsent':
        this.#desk.unsent(message);
        break;
      case 'broken':
        this.#events.onBroken(message[1]);
        break;
      case 'bytes':
        this.bytes = message[1];
        this.#events.onBytes();
        break;
      case 'metrics':
        this.#collecting.get(message[1])?.(message[2]);
        break;
      case 'drained':
        clearTimeout(this.#deadline);
        this.#onDrained?.(message[1]);
        break;
    }
  }
}
