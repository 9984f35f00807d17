import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ShoalError } from '../errors.js';

/**
 * Checks API keys. Digests are compared, because they have one length and a comparison in constant
 * time needs that; every key is compared, so the time says nothing about which one came close.
 */
export class KeyRing {
  readonly #digests: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest);
  }

  /** @throws unless a key is not needed or a right one was sent */
  check(headers: IncomingHttpHeaders): void {
    if (this.#digests.length === 0) return;
    const sent = sentKey(headers);
    if (sent === undefined) {
      throw new ShoalError(
        'unauthorized',
        'Send a key as "Authorization: Bearer …" or "X-API-Key".',
      );
    }
    const sentDigest = digest(sent);
    const matches = this.#digests.filter((known) => timingSafeEqual(known, sentDigest));
    if (matches.length === 0) throw new ShoalError('unauthorized', 'This API key is not known.');
  }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function sentKey(headers: IncomingHttpHeaders): string | undefined {
  const [, scheme = '', value = ''] =
    /^(Bearer|Basic) +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  // A browser asks its user for a name, which is ignored, and a password, which is the key. That
  // is the only way to open /docs where keys are needed.
  if (scheme !== '')
    return Buffer.from(value, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, '');
  const header = headers['x-api-key'];
  return typeof header === 'string' ? header : undefined;
}
