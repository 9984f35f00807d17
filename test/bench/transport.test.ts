import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { padJpeg } from '../../bench/transport-body.js';
import { transportTable } from '../../bench/transport-report.js';
import { decodeInto } from '../../src/image/decode.js';
import { inspectImage } from '../../src/image/inspect.js';

describe('a padded JPEG', () => {
  it.each([1000, 65_540, 150_000, 200_001])(
    'has %i bytes and the same pixels as before',
    async (size) => {
      const create = { width: 8, height: 8, channels: 3 as const, background: '#c86432' };
      const small = await sharp({ create }).jpeg().toBuffer();
      const padded = padJpeg(small, size);
      expect(padded).toHaveLength(size);
      const [one, other] = [new Uint8Array(192), new Uint8Array(192)];
      await decodeInto(small, inspectImage(small), { data: one, width: 8, height: 8 }, 1e6);
      await decodeInto(padded, inspectImage(padded), { data: other, width: 8, height: 8 }, 1e6);
      expect(other).toEqual(one);
    },
  );
});

describe('the table of the transport', () => {
  it('has a line for every process, with its main thread and the busiest others', () => {
    const others = [0.5, 0.4, 0.3, 0.2, 0.1, 0.1].map((ms) => ({ name: 'node', ms }));
    const uses = [{ role: 'server', pid: 1, ms: 2.6, main: 1, others }];
    const run = { form: 'raw', perSecond: 2000, p50: 1, p99: 2, failed: 0, uses } as const;
    const [, first, second] = transportTable([run]).split('\n');
    expect(first?.trim().split(/ +/)).toEqual(['raw', '2000', '1.0', '2.0', '0']);
    expect(second?.trim().split(/ +/)).toEqual(
      'server 2.600 1.000 0.500 0.400 0.300 0.200 0.200'.split(' '),
    );
  });
});
