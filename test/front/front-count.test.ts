import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frontCount } from '../../src/front/front-count.js';

type Settings = Parameters<typeof frontCount>[0];
const settings = (part: Partial<Settings> = {}): Settings => ({
  http_workers: 'auto',
  device: 'auto',
  models: [],
  ...part,
});

describe('the number of processes that receive requests', () => {
  it('is what was set, whatever the machine', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 1, max: 256 }),
        fc.boolean(),
        (count, cores, hasGpu) => {
          expect(frontCount(settings({ http_workers: count }), cores, hasGpu)).toBe(count);
        },
      ),
    );
  });

  it('is one where nothing but CPUs computes', () => {
    expect(frontCount(settings(), 64, false)).toBe(1);
    expect(frontCount(settings({ device: 'cpu' }), 64, true)).toBe(1);
    const models = [{ path: 'a', device: 'cpu' as const }];
    expect(frontCount(settings({ models }), 64, true)).toBe(1);
  });

  it('is one for every five cores in front of a GPU, where there are enough', () => {
    expect(frontCount(settings(), 4, true)).toBe(1);
    expect(frontCount(settings(), 8, true)).toBe(2);
    expect(frontCount(settings(), 16, true)).toBe(3);
    const models = [{ path: 'a' }, { path: 'b', device: 'cuda' as const }];
    expect(frontCount(settings({ device: 'cpu', models }), 16, true)).toBe(3);
  });
});
