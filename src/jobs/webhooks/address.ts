import { isIP } from 'node:net';

/** An IP address as a number, so that every spelling of it is equal. */
export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** All addresses that share the first `prefix` bits. */
export interface AddressRange extends Address {
  readonly prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;
const LOW_32 = 0xffff_ffffn;
/** `::ffff:0:0/96`, IPv4 addresses as IPv6 writes them. */
const MAPPED: AddressRange = { family: 6, value: 0xffffn << 32n, prefix: 96 };

/** `undefined` for anything that is not an address. A zone (`fe80::1%eth0`) is left out. */
export function parseAddress(text: string): Address | undefined {
  const [plain = ''] = text.split('%', 1);
  switch (isIP(text)) {
    case 4:
      return { family: 4, value: valueOf4(plain) };
    case 6:
      return unmapped({ family: 6, value: valueOf6(plain) });
    default:
      return undefined;
  }
}

/** From `10.1.2.3` or `10.0.0.0/8`; `undefined` when it is neither. */
export function parseRange(text: string): AddressRange | undefined {
  const [, plain = '', digits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(plain);
  if (address === undefined) return undefined;
  // An IPv4 address in the clothes of IPv6 has 96 bits before its own.
  const clothes = isIP(plain) === 6 && address.family === 4 ? 96 : 0;
  const prefix = digits === undefined ? BITS[address.family] : Number(digits) - clothes;
  if (prefix < 0 || prefix > BITS[address.family]) return undefined;
  const rest = BigInt(BITS[address.family] - prefix);
  // Most likely a typing error, and one that would allow something else than was meant.
  if ((address.value >> rest) << rest !== address.value) return undefined;
  return { ...address, prefix };
}

export function isWithin(address: Address, { family, value, prefix }: AddressRange): boolean {
  if (address.family !== family) return false;
  const rest = BigInt(BITS[family] - prefix);
  return address.value >> rest === value >> rest;
}

/** Whether it belongs to somebody on the internet, and to no network that this machine is in. */
export function isPublic(address: Address): boolean {
  const isIn = (range: AddressRange): boolean => isWithin(address, range);
  if (address.family === 4) return !NOT_PUBLIC_4.some(isIn);
  // Translators pass these on to the IPv4 address inside.
  if (isIn(NAT64)) return isPublic({ family: 4, value: address.value & LOW_32 });
  if (isIn(SIX_TO_FOUR)) return isPublic({ family: 4, value: (address.value >> 80n) & LOW_32 });
  return isIn(UNICAST_6) && !NOT_PUBLIC_6.some(isIn);
}

const NOT_PUBLIC_4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by the customers of a provider
  '127.0.0.0/8', // loopback
  '168.63.129.16', // the host agent of Azure's machines
  '169.254.0.0/16', // link-local, with the metadata services of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map(known);

/**
 * All that was ever given to anybody. What is outside is refused for that alone: `::`, `::1`, IPv4
 * inside of `::/96`, `64:ff9b:1::/48`, `100::/64`, `fc00::/7`, `fe80::/10`, `fec0::/10`, `ff00::/8`.
 */
const UNICAST_6 = known('2000::/3');
const NOT_PUBLIC_6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
].map(known);
const NAT64 = known('64:ff9b::/96');
const SIX_TO_FOUR = known('2002::/16');

/** `::ffff:1.2.3.4` is how systems write 1.2.3.4 on an IPv6 socket: packets go to the latter. */
function unmapped(address: Address): Address {
  if (!isWithin(address, MAPPED)) return address;
  return { family: 4, value: address.value & LOW_32 };
}

function valueOf4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function valueOf6(text: string): bigint {
  const last = text.slice(text.lastIndexOf(':') + 1);
  const hex = last.includes('.')
    ? text.slice(0, -last.length) +
      [valueOf4(last) >> 16n, valueOf4(last) & 0xffffn].map(toHex).join(':')
    : text;
  const [head = [], tail = []] = hex
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].reduce(
    (value, group) => (value << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

function toHex(value: bigint): string {
  return value.toString(16);
}

function known(text: string): AddressRange {
  const range = parseRange(text);
  if (range === undefined) throw new Error(`${text} is not a range`);
  return range;
}
