import fc from 'fast-check';
import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  type Address,
  isPublic,
  isWithin,
  parseAddress,
  parseRange,
} from '../../../src/jobs/webhooks/address.js';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is not an address`);
  return parsed;
}

const REFUSED = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1
  127.255.255.255 168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.8
  192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.1 198.19.255.255
  198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::2 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254
  ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8
  100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:1ff::1 2001:db8::1 2002:7f00:1::
  2002:a9fe:a9fe::1 2002:c0a8:101::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254
  fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 feff::1 ff02::1 ffff::1`
  .trim()
  .split(/\s+/);

const PUBLIC = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0
  192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8
  64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 2002:808:808::1 2606:4700::1111 2a00::1 3ffe::1`
  .trim()
  .split(/\s+/);

const anyIpv4 = fc.ipV4();

describe('which addresses are public', () => {
  it.each(REFUSED)('%s is not', (text) => {
    expect(isPublic(address(text))).toBe(false);
  });

  it.each(PUBLIC)('%s is', (text) => {
    expect(isPublic(address(text))).toBe(true);
  });

  it('is the same for an IPv4 address in whatever IPv6 clothes packets get through', () => {
    fc.assert(
      fc.property(anyIpv4, (text) => {
        const { value } = address(text);
        const groups = `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
        const expected = isPublic(address(text));
        for (const clothed of [`::ffff:${text}`, `64:ff9b::${groups}`, `2002:${groups}::1`]) {
          expect(isPublic(address(clothed)), clothed).toBe(expected);
        }
        for (const clothed of [`::${text}`, `64:ff9b:1::${text}`, `2001:0:${groups}::1`]) {
          expect(isPublic(address(clothed)), clothed).toBe(false);
        }
      }),
    );
  });
});

describe('addresses', () => {
  it.each(['', '1', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4.', ':::', 'g::', '1::2::3', 'a.b'])(
    '%j is none',
    (text) => {
      expect(parseAddress(text)).toBeUndefined();
    },
  );

  it('are equal however they are written', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const { hostname } = new URL(`http://[${text}]/`);
        expect(parseAddress(hostname.slice(1, -1))).toEqual(parseAddress(text));
        expect(parseAddress(text.toUpperCase())).toEqual(parseAddress(text));
      }),
    );
    expect(address('1:0:0:0:0:0:0:8')).toEqual(address('1::8'));
    expect(address('1::8').value).toBe((1n << 112n) + 8n);
    expect(address('::ffff:1.2.3.4')).toEqual({ family: 4, value: 0x01020304n });
  });
});

describe('ranges', () => {
  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/8 ',
    'x/8',
  ])('%j is none', (text) => {
    expect(parseRange(text)).toBeUndefined();
  });

  it.each([
    '10.0.0.1/8',
    'fd00::1/8',
    '::ffff:10.0.0.1/104',
    '::/129',
    'fe80::1%eth0',
    '::ffff:0:0/95',
  ])('%j is none either', (text) => {
    expect(parseRange(text)).toBeUndefined();
  });

  it('hold what node thinks that they hold', () => {
    const subject = fc.constantFrom('ipv4' as const, 'ipv6' as const).chain((family) => {
      const text = family === 'ipv4' ? anyIpv4 : fc.ipV6();
      const prefix = fc.integer({ min: 0, max: family === 'ipv4' ? 32 : 128 });
      return fc.record({ family: fc.constant(family), text, prefix, flips: prefix });
    });
    fc.assert(
      fc.property(subject, ({ family, text, prefix, flips }) => {
        const bits = family === 'ipv4' ? 32 : 128;
        const { value } = address(text);
        fc.pre(address(text).family === (family === 'ipv4' ? 4 : 6));
        const rest = BigInt(bits - prefix);
        const range = { ...address(text), value: (value >> rest) << rest, prefix };
        const other = { ...range, value: value ^ ((1n << BigInt(bits - flips)) >> 1n) };
        const list = new BlockList();
        list.addSubnet(write(range.value, bits), prefix, family);
        expect(parseRange(`${write(range.value, bits)}/${String(prefix)}`)).toEqual(range);
        for (const one of [address(text), other]) {
          expect(isWithin(one, range)).toBe(list.check(write(one.value, bits), family));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('mean IPv4 when they are written as IPv6', () => {
    expect(parseRange('::ffff:10.0.0.0/104')).toEqual(parseRange('10.0.0.0/8'));
    expect(parseRange('::ffff:10.0.0.1')).toEqual(parseRange('10.0.0.1/32'));
  });
});

function write(value: bigint, bits: number): string {
  const size = bits === 32 ? 8 : 16;
  const count = bits / size;
  const groups = Array.from({ length: count }, (_, at) => {
    const group = (value >> BigInt(size * (count - 1 - at))) & ((1n << BigInt(size)) - 1n);
    return group.toString(bits === 32 ? 10 : 16);
  });
  return groups.join(bits === 32 ? '.' : ':');
}
