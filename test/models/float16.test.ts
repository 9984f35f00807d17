import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { halfBits } from '../../tools/onnx/float16.js';

/** What 16 bits stand for, by the definition of the format. */
function valueOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  return exponent === 0
    ? sign * mantissa * 2 ** -24
    : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

const FINITE = Array.from({ length: 0x7c00 }, (_, bits) => bits);

describe('a number in 16 bits', () => {
  it('stays what it is when it fits exactly', () => {
    for (const bits of FINITE) {
      expect(halfBits(valueOf(bits))).toBe(bits);
      expect(halfBits(-valueOf(bits))).toBe(bits | 0x8000);
    }
  });

  it('is otherwise the nearest one', () => {
    fc.assert(
      fc.property(fc.double({ min: -65_504, max: 65_504, noNaN: true }), (value) => {
        const bits = halfBits(value);
        const error = Math.abs(valueOf(bits) - value);
        for (const next of [bits - 1, bits + 1]) {
          if ((next & 0x7fff) < 0x7c00 && next >= 0) {
            expect(error).toBeLessThanOrEqual(Math.abs(valueOf(next) - value));
          }
        }
      }),
    );
  });

  it('is the even one of two that are equally near', () => {
    expect(halfBits(1 + 2 ** -11)).toBe(0x3c00);
    expect(halfBits(1 + 3 * 2 ** -11)).toBe(0x3c02);
  });

  it.each([65_505, -1e6, Number.POSITIVE_INFINITY, Number.NaN])('cannot be %d', (value) => {
    expect(() => halfBits(value)).toThrow('does not fit');
  });
});
