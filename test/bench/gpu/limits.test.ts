import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bestRaw,
  decodeLimit,
  lateGrowth,
  servedLimit,
  middleRows,
  shareOfBest,
} from '../../../bench/gpu/limits.js';
import { rawRow, servedRow } from './rows.js';

describe('the best raw loop', () => {
  const rows = [
    rawRow({ device: 'cuda', precision: 'fp32', perSecond: 4000 }),
    rawRow({ device: 'cuda', precision: 'fp16', perSecond: 5000 }),
    rawRow({ device: 'webgpu', precision: 'fp32', perSecond: 1500 }),
  ];

  it('is that of the model file in use', () => {
    expect(bestRaw(rows, 'cuda', 'fp32')?.perSecond).toBe(4000);
  });

  it('is the best of all where nothing is known about that file', () => {
    expect(bestRaw(rows, 'cuda')?.perSecond).toBe(5000);
    expect(bestRaw(rows, 'webgpu', 'fp16')?.perSecond).toBe(1500);
    expect(bestRaw(rows, 'cpu')).toBeUndefined();
  });
});

describe('the limit of what can be served', () => {
  const gpu = { device: 'cuda', raw: 5000, decode: 4000, cores: 16, generatorCores: 4 } as const;

  it('is decoding on the cores that the generator leaves, where that is less', () => {
    expect(servedLimit(gpu)).toBe(3000);
    expect(servedLimit({ ...gpu, raw: 1500 })).toBe(1500);
  });

  it('is what both leave each other on a CPU', () => {
    const cpu = { device: 'cpu', raw: 100, decode: 300, cores: 2, generatorCores: 0 } as const;
    expect(servedLimit(cpu)).toBeCloseTo(75);
  });

  it('never exceeds either bound', () => {
    const positive = fc.double({ min: 1, max: 1e5, noNaN: true });
    fc.assert(
      fc.property(
        fc.constantFrom('cpu' as const, 'cuda' as const),
        positive,
        positive,
        fc.double({ min: 0, max: 32, noNaN: true }),
        (device, raw, decode, generatorCores) => {
          const limit = servedLimit({ device, raw, decode, cores: 16, generatorCores });
          expect(limit).toBeLessThanOrEqual(Math.min(raw, decode) * (1 + 1e-9));
          expect(limit).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it('knows decoding by the best number of threads', () => {
    const row = { cpuMsPerImage: 3 };
    const rows = [
      { threads: 8, perSecond: 2000, ...row },
      { threads: 16, perSecond: 1900, ...row },
    ];
    expect(decodeLimit(rows)).toBe(2000);
    expect(decodeLimit([])).toBeUndefined();
  });
});

describe('automatic settings', () => {
  const at = (setting: string, perSecond: number) => servedRow({ setting, perSecond });

  it('are compared with the best by hand, each by its middle round', () => {
    const rounds = [
      [95, 100, 80],
      [50, 70, 150],
      [110, 104, 85],
    ] as const;
    const rows = rounds.flatMap(([auto, one, two]) => [
      at('', auto),
      at('--sessions 1', one),
      at('--sessions 2', two),
    ]);
    expect(middleRows(rows).map(({ perSecond }) => perSecond)).toEqual([95, 100, 85]);
    expect(shareOfBest(rows)).toBeCloseTo(0.95);
  });

  it('are given their middle share of what was possible in that round', () => {
    const rows = [0.9, 0.7, 0.8].map((ratio) => servedRow({ ratio }));
    expect(middleRows(rows)).toMatchObject([{ ratio: 0.8 }]);
    expect(middleRows([servedRow({ ratio: null })])).toMatchObject([{ ratio: null }]);
  });

  it('have no share when one side is missing', () => {
    expect(shareOfBest([at('', 90)])).toBeNull();
    expect(shareOfBest([at('--sessions 1', 90)])).toBeNull();
  });
});

describe('late growth', () => {
  it('leaves out how a run began', () => {
    expect(lateGrowth([0, 500, 1000, 1000, 1000, 1000, 1000, 1000, 1010, 1010])).toBe(10);
  });

  it('is nothing for a single sample', () => {
    expect(lateGrowth([5])).toBe(0);
  });
});
