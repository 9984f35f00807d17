/**
 * Buffers for images that were taken out of an envelope, JSON or a form. A fresh one per request
 * would be garbage of 150 KB each, and collecting it cost as much as parsing the request.
 */
const free: Buffer[] = [];
const MAX_FREE = 32;
const MAX_BYTES = 2 ** 20;
const STEP_BYTES = 64 * 1024;

export function takeImageBuffer(bytes: number): Buffer {
  const at = free.findIndex(({ buffer }) => buffer.byteLength >= bytes);
  const [known] = at < 0 ? [] : free.splice(at, 1);
  const size = Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;
  return Buffer.from((known ?? Buffer.allocUnsafeSlow(size)).buffer, 0, bytes);
}

/**
 * Only for an image that the engine has answered: it has read the whole of it then. One that was
 * cancelled may still lie in the queue of the socket and is left to the collector.
 */
export function giveBackImageBuffer(image: Buffer): void {
  if (free.length < MAX_FREE && image.buffer.byteLength <= MAX_BYTES) free.push(image);
}
