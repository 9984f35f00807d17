import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { iou, suppress } from '../../src/heads/nms.js';
import { decodeSsd } from '../../src/heads/ssd.js';
import { expectCode } from '../helpers/errors.js';

const outputs = (rows: [score: number, label: number, ...box: number[]][]) => ({
  scores: { data: Float32Array.from(rows.map(([score]) => score)), dims: [1, rows.length] },
  classes: { data: Int32Array.from(rows.map(([, label]) => label)), dims: [1, rows.length] },
  boxes: {
    data: Float32Array.from(rows.flatMap((row) => row.slice(2))),
    dims: [1, rows.length, 4],
  },
});
const request = { index: 0, threshold: 0.5, width: 200, height: 100, labels: ['cat', 'dog'] };

describe('decodeSsd', () => {
  it('gives labelled boxes in pixels, best first, above the threshold', () => {
    const found = decodeSsd(
      outputs([
        [0.6, 1, 0.5, 0.5, 0.75, 0.75],
        [0.9, 0, 0.1, 0.2, 0.3, 0.4],
        [0.4, 0, 0.8, 0.8, 0.9, 0.9],
      ]),
      request,
    );
    expect(found).toEqual([
      { label: 'cat', confidence: 0.9, bbox: [20, 20, 60, 40] },
      { label: 'dog', confidence: 0.6, bbox: [100, 50, 150, 75] },
    ]);
  });

  it('keeps boxes inside the picture', () => {
    const [found] = decodeSsd(outputs([[0.9, 0, -0.1, -0.2, 1.3, 1.1]]), request);
    expect(found?.bbox).toEqual([0, 0, 200, 100]);
  });

  it('suppresses overlaps of the same label only', () => {
    const box = [0.1, 0.1, 0.5, 0.5];
    const found = decodeSsd(
      outputs([
        [0.9, 0, ...box],
        [0.8, 0, ...box],
        [0.7, 1, ...box],
      ]),
      request,
    );
    expect(found.map(({ label }) => label)).toEqual(['cat', 'dog']);
  });

  it('takes an output that is not finite as an error', () => {
    expectCode('model_output_invalid', () =>
      decodeSsd(outputs([[Number.NaN, 0, 0, 0, 1, 1]]), request),
    );
    expectCode('model_output_invalid', () =>
      decodeSsd(outputs([[0.9, 0, 0, 0, Infinity, 1]]), request),
    );
  });

  it('looks only at the rows of its own picture', () => {
    const two = {
      scores: { data: Float32Array.from([0.9, 0.8]), dims: [2, 1] },
      classes: { data: Int32Array.from([0, 1]), dims: [2, 1] },
      boxes: { data: Float32Array.from([0, 0, 1, 1, 0, 0, 0.5, 0.5]), dims: [2, 1, 4] },
    };
    expect(decodeSsd(two, { ...request, index: 1 })).toEqual([
      { label: 'dog', confidence: 0.8, bbox: [0, 0, 100, 50] },
    ]);
  });
});

describe('suppress', () => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  const candidate = fc.record({
    box: fc.tuple(unit, unit, unit, unit).map(([x, y, w, h]) => [x, y, x + w, y + h] as const),
    score: unit,
    label: fc.integer({ min: 0, max: 2 }),
  });

  it('keeps the best, keeps no overlapping pair, and drops only what overlaps something better', () => {
    fc.assert(
      fc.property(fc.array(candidate, { maxLength: 30 }), unit, (candidates, threshold) => {
        const kept = suppress(candidates, threshold);
        const clash = (a: (typeof kept)[0], b: (typeof kept)[0]): boolean =>
          a !== b && a.label === b.label && iou(a.box, b.box) > threshold;
        expect(kept.some((a) => kept.some((b) => clash(a, b)))).toBe(false);
        for (const dropped of candidates.filter((one) => !kept.includes(one))) {
          expect(kept.some((one) => clash(one, dropped) && one.score >= dropped.score)).toBe(true);
        }
      }),
    );
  });
});
