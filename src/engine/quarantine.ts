import { createHash } from 'node:crypto';
import { ShoalError } from '../errors.js';
import { bytesOf, type ImageSource, isRemote } from './image-source.js';

/** Images that have killed this many engines are not tried again for a while. */
const TOO_MANY_KILLS = 2;
/** Oldest entries go first; an attacker with many different images gains nothing by it. */
const MAX_ENTRIES = 1024;

interface Entry {
  readonly kills: number;
  readonly bytes: number;
  readonly until: number;
}

/** Remembers images that kill engines, by the hash of their bytes. */
export class Quarantine {
  readonly #entries = new Map<string, Entry>();
  readonly #durationMs: number;
  readonly #now: () => number;

  constructor(durationMs: number, now: () => number = () => performance.now()) {
    this.#durationMs = durationMs;
    this.#now = now;
  }

  /** How many images are refused at the moment. */
  get size(): number {
    this.#expire();
    return [...this.#entries.values()].filter(({ kills }) => kills >= TOO_MANY_KILLS).length;
  }

  /** An engine died of this image. True when the image is refused from now on. */
  blame(image: ImageSource, kills: number): boolean {
    this.#expire();
    if (this.#durationMs === 0) return false;
    const hash = hashOf(image);
    if (hash !== undefined) return this.#record(hash, bytesOf(image), kills);
    // One that was blamed before has been hashed when it came again, so this is its first time.
    if (isRemote(image)) {
      image.askHash((asked) => {
        this.#record(asked, image.bytes, kills);
      });
    }
    return kills >= TOO_MANY_KILLS;
  }

  #record(hash: string, bytes: number, kills: number): boolean {
    const total = kills + (this.#entries.get(hash)?.kills ?? 0);
    this.#entries.delete(hash);
    const until = this.#now() + this.#durationMs;
    this.#entries.set(hash, { kills: total, bytes, until });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    return total >= TOO_MANY_KILLS;
  }

  /** Nothing is hashed as long as no entry has the same length. */
  mayHold(bytes: number): boolean {
    if (this.#entries.size === 0) return false;
    this.#expire();
    return [...this.#entries.values()].some((entry) => entry.bytes === bytes);
  }

  /** @throws for an image that is refused */
  check(image: ImageSource): void {
    if (this.#entries.size === 0 || !this.mayHold(bytesOf(image))) return;
    const entry = this.#entries.get(hashOf(image) ?? '');
    if (entry === undefined || entry.kills < TOO_MANY_KILLS) return;
    throw quarantined();
  }

  #expire(): void {
    const now = this.#now();
    for (const [hash, { until }] of this.#entries) if (until <= now) this.#entries.delete(hash);
  }
}

export function quarantined(): ShoalError {
  return new ShoalError(
    'image_quarantined',
    'This image has made the engine crash or hang; it is not tried again for a while.',
  );
}

function hashOf(image: ImageSource): string | undefined {
  return isRemote(image) ? image.hash : hashPieces(image);
}

export function hashPieces(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}
