import type { OnReadOpts } from 'node:net';
import type { FrameReader } from '../engine/wire.js';

/** Holds what comes before a body, and hardly any of the body itself. */
const HEAD_BYTES = 1024;

/**
 * Reads frames from a socket, bodies straight into the memory that they are for. It is shared with
 * other threads, and V8 copies into such memory eight bytes at a time.
 * @param onRead called after each read
 */
export function readFrames(reader: FrameReader, onRead: () => void = () => undefined): OnReadOpts {
  const head = Buffer.allocUnsafeSlow(HEAD_BYTES);
  return {
    buffer: () => reader.room ?? head,
    callback: (bytes, buffer) => {
      if (buffer === head) reader.push(head.subarray(0, bytes));
      else reader.filled(bytes);
      onRead();
      return true;
    },
  };
}
