import { ConfigError } from '../../config/load.js';
import { ShoalError } from '../../errors.js';
import {
  type Address,
  type AddressRange,
  isPublic,
  isWithin,
  parseAddress,
  parseRange,
} from './address.js';

/** Where a webhook goes. Whatever is checked and whatever is called comes from here. */
export interface Target {
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  /** When the host is an address, however it was written. */
  readonly address: Address | undefined;
}

const MAX_LENGTH = 2048;

/** @throws `webhook_refused` for what can never be called */
export function readTarget(text: string): Target {
  if (text.length > MAX_LENGTH) throw refused(`It has more than ${String(MAX_LENGTH)} characters.`);
  if (!URL.canParse(text)) throw refused('It is not a URL.');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused('It must begin with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') throw refused('It must hold no credentials.');
  // The dot at the end of a complete name says nothing that matters here.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
  if (host === '') throw refused('It has no host.');
  return { url, host, address: parseAddress(host) };
}

/**
 * What can be said before any name is looked up, when a job is submitted. Where a name leads to
 * is checked at every attempt.
 * @throws `webhook_refused`
 */
export function checkTarget(text: string, allow: readonly AddressRange[]): Target {
  const target = readTarget(text);
  const { host, address } = target;
  const isLocal = host === 'localhost' || host.endsWith('.localhost');
  const isOpen = isLocal
    ? LOOPBACK.some((one) => isPermitted(one, allow))
    : address === undefined || isPermitted(address, allow);
  if (!isOpen) throw refused('It is not a public address.');
  return target;
}

export function isPermitted(address: Address, allow: readonly AddressRange[]): boolean {
  return isPublic(address) || allow.some((range) => isWithin(address, range));
}

/** The setting `webhook_allow`. @throws ConfigError */
export function parseAllow(list: readonly string[]): readonly AddressRange[] {
  return list.map((text) => {
    const range = parseRange(text);
    if (range !== undefined) return range;
    throw new ConfigError(
      `"webhook_allow": ${JSON.stringify(text)} is neither an address, as 10.1.2.3, nor a range from its first address on, as 10.0.0.0/8`,
    );
  });
}

const LOOPBACK: readonly Address[] = [
  { family: 4, value: 0x7f00_0001n },
  { family: 6, value: 1n },
];

function refused(why: string): ShoalError {
  return new ShoalError('webhook_refused', `The webhook URL is not allowed. ${why}`);
}
