import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kernelMemory, MAX_SOURCE_BYTES } from '../../src/image/bilinear-kernel.js';
import { BILINEAR_MODULE } from '../../src/image/bilinear-module.js';
import { resizeBilinear, resizePlainly } from '../../src/image/resize.js';
import { assemble } from '../../tools/wasm/assemble.js';

function resize(
  data: Uint8Array,
  [sw, sh]: [number, number],
  [tw, th]: [number, number],
): Uint8Array {
  const out = new Uint8Array(tw * th * 3);
  const source = { data, width: sw, height: sh };
  resizeBilinear(source, { data: out, width: tw, height: th });
  return out;
}

describe('resizeBilinear', () => {
  it('leaves a picture of the right size alone', () => {
    const data = Uint8Array.from({ length: 5 * 4 * 3 }, (_, at) => (at * 37) % 256);
    expect(resize(data, [5, 4], [5, 4])).toEqual(data);
  });

  it('agrees with the formula in floating point to one step of a byte', () => {
    const sizes = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(sizes, sizes, sizes, sizes, fc.integer(), (sw, sh, tw, th, seed) => {
        const data = Uint8Array.from(
          { length: sw * sh * 3 },
          (_, at) => Math.abs(at * 7919 + seed) % 256,
        );
        const out = resize(data, [sw, sh], [tw, th]);
        const at = (x: number, y: number, c: number): number =>
          data[(Math.min(y, sh - 1) * sw + Math.min(x, sw - 1)) * 3 + c] ?? 0;
        for (let y = 0; y < th; y++) {
          for (let x = 0; x < tw; x++) {
            const [px, py] = [(x * sw) / tw, (y * sh) / th];
            const [x0, y0] = [Math.floor(px), Math.floor(py)];
            const [fx, fy] = [px - x0, py - y0];
            for (let c = 0; c < 3; c++) {
              const top = at(x0, y0, c) * (1 - fx) + at(x0 + 1, y0, c) * fx;
              const bottom = at(x0, y0 + 1, c) * (1 - fx) + at(x0 + 1, y0 + 1, c) * fx;
              const expected = top * (1 - fy) + bottom * fy;
              const actual = out[(y * tw + x) * 3 + c] ?? -1;
              expect(Math.abs(actual - expected)).toBeLessThanOrEqual(1);
            }
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('gives the same pixels with the kernel and without', () => {
    const sizes = fc.integer({ min: 1, max: 70 });
    fc.assert(
      fc.property(sizes, sizes, sizes, sizes, fc.boolean(), (sw, sh, tw, th, inPlace) => {
        const bytes = sw * sh * 3;
        const data = (inPlace ? kernelMemory(bytes) : undefined) ?? new Uint8Array(bytes);
        for (let at = 0; at < bytes; at++) data[at] = (at * 7919 + (at >> 3)) % 256;
        const source = { data, width: sw, height: sh };
        const plain = { data: new Uint8Array(tw * th * 3), width: tw, height: th };
        resizePlainly(source, plain);
        const fast = { ...plain, data: new Uint8Array(new SharedArrayBuffer(tw * th * 3)) };
        resizeBilinear(source, fast);
        expect([...fast.data]).toEqual([...plain.data]);
      }),
      { numRuns: 200 },
    );
  });

  it('also takes pictures that are too large for the kernel', () => {
    const [width, height] = [2048, MAX_SOURCE_BYTES / 2048 / 3 + 1].map(Math.ceil) as [
      number,
      number,
    ];
    expect(kernelMemory(width * height * 3)).toBeUndefined();
    const data = new Uint8Array(width * height * 3).fill(7);
    expect(resize(data, [width, height], [2, 2])).toEqual(new Uint8Array(12).fill(7));
    const long = new Uint8Array(30_000 * 2 * 3).fill(9);
    expect(resize(long, [30_000, 2], [2, 2])).toEqual(new Uint8Array(12).fill(9));
  });
});

describe('the kernel', () => {
  it('is what its source says', async () => {
    const source = readFileSync('tools/wasm/bilinear.wat', 'utf8');
    const text = await assemble(source);
    const base64 = [...text.matchAll(/'([^']+)'/g)].map(([, part]) => part).join('');
    expect(base64).toBe(BILINEAR_MODULE);
  });
});
