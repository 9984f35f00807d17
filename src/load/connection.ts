import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ResponseHead } from './response-head.js';
import { ResponseReader } from './response-reader.js';
import type { Target } from './target.js';

/** What a connection can say about a request; giving up is the sender's business. */
export type Reply =
  | { readonly kind: 'answer'; readonly head: ResponseHead }
  | { readonly kind: 'error'; readonly code: string };

/** Answers are read at once and not kept, so all connections can read into the same block. */
const readBlock = Buffer.allocUnsafeSlow(64 * 1024);
/** What clients assume where a server does not say how long it keeps a connection. */
const DEFAULT_KEEP_ALIVE_SECONDS = 5;
/** A connection this close to its end may be closed by the server just as it is used again. */
const KEEP_ALIVE_MARGIN_MS = 1000;

/** A socket that carries one request at a time. It may be written to before it is connected. */
export class Connection {
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
  readonly #onClosed: (connection: Connection) => void;
  #onReply: ((reply: Reply) => void) | undefined;
  #onFlushed: (() => void) | undefined;
  #isFlushed = true;
  #isOpen = true;
  #staleAt = Number.POSITIVE_INFINITY;

  constructor(target: Target, onClosed: (connection: Connection) => void) {
    this.#onClosed = onClosed;
    this.#socket = open(target, (bytes) => {
      this.#read(bytes);
    });
    this.#socket.setNoDelay(true);
    this.#socket
      .on('error', (error: NodeJS.ErrnoException) => {
        this.#end({ kind: 'error', code: error.code ?? error.message });
      })
      .on('end', () => {
        const head = this.#reader.end();
        this.#end(head === undefined ? CLOSED : { kind: 'answer', head });
      })
      .on('close', () => {
        this.#end(CLOSED);
      });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  isReusableAt(now: number): boolean {
    return this.#isOpen && now < this.#staleAt;
  }

  /** @param onReply called at most once, and not after `destroy` */
  send(head: Buffer, body: Buffer, onReply: (reply: Reply) => void): void {
    this.#onReply = onReply;
    this.#isFlushed = false;
    this.#socket.cork();
    this.#socket.write(head);
    this.#socket.write(body, this.#flushed);
    this.#socket.uncork();
  }

  /**
   * Calls back when the last request has left, which may be after its answer: a refusal can come
   * before the body is through. Only then would another request not wait behind it.
   */
  whenFlushed(callback: () => void): void {
    if (this.#isFlushed) callback();
    else this.#onFlushed = callback;
  }

  destroy(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onReply = undefined;
    this.#onFlushed = undefined;
    this.#socket.destroy();
    this.#onClosed(this);
  }

  readonly #flushed = (): void => {
    this.#isFlushed = true;
    const callback = this.#onFlushed;
    this.#onFlushed = undefined;
    callback?.();
  };

  #read(bytes: Buffer): void {
    // Bytes that nobody asked for; a server may say 408 to an idle client, for example.
    if (this.#onReply === undefined) {
      this.destroy();
      return;
    }
    const head = this.#reader.push(bytes);
    if (head === 'malformed') {
      this.#end({ kind: 'error', code: 'malformed answer' });
    } else if (head?.isLast === true) {
      this.#end({ kind: 'answer', head });
    } else if (head !== undefined) {
      const keepMs = (head.keepAliveSeconds ?? DEFAULT_KEEP_ALIVE_SECONDS) * 1000;
      this.#staleAt = performance.now() + keepMs - KEEP_ALIVE_MARGIN_MS;
      this.#reply({ kind: 'answer', head });
    }
  }

  /** The last thing this connection says. */
  #end(reply: Reply): void {
    const onReply = this.#onReply;
    this.destroy();
    onReply?.(reply);
  }

  #reply(reply: Reply): void {
    const onReply = this.#onReply;
    this.#onReply = undefined;
    onReply?.(reply);
  }
}

const CLOSED: Reply = { kind: 'error', code: 'closed without an answer' };

function open({ address, port, tlsName }: Target, onBytes: (bytes: Buffer) => void): Socket {
  if (tlsName !== undefined) {
    const servername = isIP(tlsName) === 0 ? tlsName : '';
    return connectTls({ host: address, port, servername }).on('data', onBytes);
  }
  const callback = (length: number): boolean => {
    onBytes(readBlock.subarray(0, length));
    return true;
  };
  return connectTcp({ host: address, port, onread: { buffer: readBlock, callback } });
}
