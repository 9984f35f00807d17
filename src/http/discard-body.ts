import type { IncomingMessage } from 'node:http';

/** Beyond this, a client that goes on sending need not be listened to. */
const MAX_DISCARDED_BYTES = 64 * 2 ** 20;

/** What the client still sends is read and thrown away, so that it can read the answer. */
export function discardBody(request: IncomingMessage): void {
  request.resume();
  let left = MAX_DISCARDED_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
}
