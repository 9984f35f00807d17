import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferBatch } from '../../src/engine-process/infer.js';
import type { Outputs } from '../../src/heads/outputs.js';

/** A model whose result for a picture is its number, and that fails where it is told to. */
function model(bad: ReadonlySet<number>, maxImages = Infinity) {
  const sizes: number[] = [];
  const run = (first: number, count: number): Promise<Outputs> => {
    sizes.push(count);
    if (count > maxImages) return Promise.reject(new Error('Failed to allocate memory'));
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    if (numbers.some((number) => bad.has(number))) return Promise.reject(new Error('no'));
    return Promise.resolve({ id: { data: Int32Array.from(numbers), dims: [count] } });
  };
  return { run, sizes };
}

describe('inferBatch', () => {
  it('fails exactly the guilty pictures and gives each other one its own result', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(20), fc.uniqueArray(fc.nat(19)), async (count, bad) => {
        const guilty = new Set(bad);
        const { pictures } = await inferBatch(model(guilty).run, count);
        expect(pictures).toHaveLength(count);
        pictures.forEach((picture, number) => {
          if ('error' in picture) expect(guilty.has(number)).toBe(true);
          else expect(picture.outputs['id']?.data[picture.index]).toBe(number);
        });
      }),
    );
  });

  it('runs a good batch once, and a bad one not much more often than needed', async () => {
    const good = model(new Set());
    await inferBatch(good.run, 8);
    expect(good.sizes).toEqual([8]);
    const bad = model(new Set([5]));
    await inferBatch(bad.run, 8);
    expect(bad.sizes).toEqual([8, 4, 4, 2, 1, 1, 2]);
  });

  it('halves what does not fit into memory and says what did', async () => {
    const small = model(new Set(), 3);
    const { pictures, ceiling } = await inferBatch(small.run, 8);
    expect(pictures.every((picture) => !('error' in picture))).toBe(true);
    expect(ceiling).toBe(2);
    const none = await inferBatch(model(new Set(), 0).run, 2);
    expect(none.ceiling).toBe(1);
    expect(none.pictures.every((picture) => 'error' in picture)).toBe(true);
  });

  it('goes down to the next size that runs where not all do', async () => {
    const buckets = [1, 8, 32, 64];
    // What is filled up takes the memory of the whole size.
    const padded = (fits: number) => {
      const sizes: number[] = [];
      const run = (first: number, count: number): Promise<Outputs> => {
        const bucket = buckets.find((size) => size >= count) ?? count;
        sizes.push(bucket);
        if (bucket > fits) return Promise.reject(new Error('Failed to allocate memory'));
        const data = Int32Array.from({ length: bucket }, (_, index) => first + index);
        return Promise.resolve({ id: { data, dims: [bucket] } });
      };
      return { run, sizes };
    };
    const some = padded(8);
    const { pictures, ceiling } = await inferBatch(some.run, 33, buckets);
    expect(ceiling).toBe(8);
    expect(some.sizes).toEqual([64, 32, 8, 8, 8, 8, 1]);
    pictures.forEach((picture, number) => {
      expect('outputs' in picture && picture.outputs['id']?.data[picture.index]).toBe(number);
    });
  });

  it('gives up at the smallest size that runs, and says nothing about smaller ones', async () => {
    const only = model(new Set(), 0);
    const { pictures, ceiling } = await inferBatch(only.run, 20, [32]);
    expect(only.sizes).toEqual([20]);
    expect(ceiling).toBe(32);
    expect(pictures).toHaveLength(20);
    expect(pictures.every((picture) => 'error' in picture)).toBe(true);
  });

  it('tries nothing more on a device that is lost', async () => {
    const sizes: number[] = [];
    const run = (_first: number, count: number): Promise<Outputs> => {
      sizes.push(count);
      return Promise.reject(new Error('CUDA failure 719: unspecified launch failure'));
    };
    await expect(inferBatch(run, 8)).rejects.toThrow('CUDA failure 719');
    expect(sizes).toEqual([8]);
  });

  it('does not run nothing', async () => {
    const idle = model(new Set());
    expect(await inferBatch(idle.run, 0)).toEqual({ pictures: [] });
    expect(idle.sizes).toEqual([]);
  });
});
