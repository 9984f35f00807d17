import type { Duplex } from 'node:stream';
import { encodeFrameHead, FRAME, FrameReader } from '../engine/wire.js';

interface ChannelHost<In, Out> {
  onMessage(message: In): void;
  /** What the other side should know before it reads the rest. */
  news(): Out[];
  onClose(): void;
}

/**
 * Messages over a socket, all that come up in one turn of the event loop in one write: under load
 * that is a system call and a wake-up for many of them.
 */
export class Channel<In, Out> {
  readonly #socket: Duplex;
  readonly #host: ChannelHost<In, Out>;
  #outbox: Out[] = [];

  constructor(socket: Duplex, host: ChannelHost<In, Out>) {
    this.#socket = socket;
    this.#host = host;
    const reader = new FrameReader(({ meta }) => {
      for (const message of meta as In[]) host.onMessage(message);
    });
    socket.on('data', (chunk: Buffer) => {
      reader.push(chunk);
    });
    // Whoever is gone is noticed below.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      host.onClose();
    });
  }

  send(message: Out): void {
    if (this.#outbox.push(message) > 1) return;
    setImmediate(() => {
      this.flush();
    });
  }

  flush(): void {
    const messages = [...this.#host.news(), ...this.#outbox];
    this.#outbox = [];
    if (messages.length === 0) return;
    if (this.#socket.writable) this.#socket.write(encodeFrameHead(FRAME.messages, messages));
  }

  close(): void {
    this.#socket.destroy();
  }
}
