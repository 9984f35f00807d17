import { createServer, type Server, type Socket } from 'node:net';
import type { IntakeHello, ItemMeta } from '../engine/messages.js';
import { encodeFrameHead, FRAME, FrameReader, WIRE_VERSION } from '../engine/wire.js';

/** Engines connect here, and images go straight to them. */
export class IntakeServer {
  readonly #token: string;
  readonly #onBroken: (engine: number) => void;
  readonly #server: Server;
  readonly #engines = new Map<number, Socket>();
  /** What is to be sent to engines that have not connected yet. */
  readonly #waiting = new Map<number, (() => void)[]>();

  /** @param onBroken an engine has closed its connection, probably because it has ended */
  constructor(token: string, onBroken: (engine: number) => void) {
    this.#token = token;
    this.#onBroken = onBroken;
    this.#server = createServer((socket) => {
      this.#greet(socket);
    });
  }

  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => {
        resolve();
      });
    });
  }

  /** All pieces go out in one system call. */
  send(engine: number, meta: ItemMeta, image: readonly Buffer[], bytes: number): void {
    const socket = this.#engines.get(engine);
    if (socket === undefined) {
      const waiting = this.#waiting.get(engine) ?? [];
      this.#waiting.set(engine, waiting);
      waiting.push(() => {
        this.send(engine, meta, image, bytes);
      });
      return;
    }
    socket.cork();
    socket.write(encodeFrameHead(FRAME.item, meta, bytes));
    for (const piece of image) socket.write(piece);
    socket.uncork();
  }

  /** The engine has ended; what it should have got goes to another one. */
  forget(engine: number): void {
    this.#waiting.delete(engine);
    const socket = this.#engines.get(engine);
    this.#engines.delete(engine);
    socket?.destroy();
  }

  #greet(socket: Socket): void {
    const reader = new FrameReader(({ type, meta }) => {
      const { version, token, engine } = (type === FRAME.hello ? meta : {}) as Partial<IntakeHello>;
      if (version !== WIRE_VERSION || token !== this.#token || engine === undefined) {
        socket.destroy();
        return;
      }
      this.#engines.set(engine, socket);
      socket.on('close', () => {
        if (this.#engines.get(engine) !== socket) return;
        this.#engines.delete(engine);
        this.#onBroken(engine);
      });
      const waiting = this.#waiting.get(engine) ?? [];
      this.#waiting.delete(engine);
      for (const send of waiting) send();
    });
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      try {
        reader.push(chunk);
      } catch {
        socket.destroy();
      }
    });
  }
}
