import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { disagreement } from '../../src/devices/agreement.js';
import type { Detection } from '../../src/heads/detection.js';

const found = (label: string, confidence: number, bbox: Detection['bbox']): Detection => ({
  label,
  confidence,
  bbox,
});
const CUP = found('cup', 0.9, [100, 100, 200, 220]);
const FORK = found('fork', 0.5, [10, 300, 90, 330]);

const side = fc.integer({ min: 20, max: 300 });
const corner = fc.integer({ min: 0, max: 300 });
const detection = fc
  .record({
    label: fc.constantFrom('cup', 'fork', 'spoon'),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    box: fc.tuple(corner, corner, side, side),
  })
  .map(({ label, confidence, box: [x, y, width, height] }) =>
    found(label, confidence, [x, y, x + width, y + height]),
  );
const pictures = fc.array(fc.array(detection, { maxLength: 20 }), { minLength: 1, maxLength: 3 });
/** With at least one detection that nobody can overlook. */
const clearPictures = pictures.map(([first = [], ...rest]) => [
  [found('cup', 0.8, [40, 40, 120, 140]), ...first],
  ...rest,
]);
const each = (all: Detection[][], change: (one: Detection) => Detection): Detection[][] =>
  all.map((list) => list.map(change));

describe('disagreement', () => {
  it('is none between a result and itself, whatever its boxes', () => {
    const any = fc.double({ min: -1e4, max: 1e4, noNaN: true });
    const odd = fc
      .tuple(any, any, any, any)
      .map((bbox) => [found('cup', 0.7, bbox)] as Detection[]);
    fc.assert(fc.property(pictures, (all) => disagreement(all, all) === undefined));
    fc.assert(fc.property(fc.array(odd), (all) => disagreement(all, all) === undefined));
  });

  it('is none for differences as small as arithmetic makes them, in any order', () => {
    const noise = fc.double({ min: -0.004, max: 0.004, noNaN: true });
    fc.assert(
      fc.property(pictures, noise, noise, (all, shift, drift) => {
        const other = each(all, ({ label, confidence, bbox: [x1, y1, x2, y2] }) =>
          found(label, confidence + drift, [x1 + shift, y1 - shift, x2 + shift, y2 + shift]),
        ).map((list) => list.toReversed());
        return disagreement(all, other) === undefined;
      }),
    );
  });

  it('goes by what is clear: what is barely seen may be seen or not', () => {
    const faint = found('spoon', 0.1, [0, 0, 50, 50]);
    expect(disagreement([[CUP, faint]], [[CUP]])).toBeUndefined();
    expect(disagreement([[CUP]], [[CUP, faint]])).toBeUndefined();
  });

  it('does not depend on which side of the line a confidence falls', () => {
    const below = found('spoon', 0.29, [0, 0, 50, 50]);
    const above = { ...below, confidence: 0.31 };
    expect(disagreement([[CUP, above]], [[CUP, below]])).toBeUndefined();
    expect(disagreement([[CUP, below]], [[CUP, above]])).toBeUndefined();
  });

  it.each([
    ['shifted boxes', (one: Detection) => ({ ...one, bbox: shifted(one.bbox) })],
    ['other labels', (one: Detection) => ({ ...one, label: `not ${one.label}` })],
    ['a confidence that is not a number', (one: Detection) => ({ ...one, confidence: NaN })],
    ['boxes that are no boxes', (one: Detection) => ({ ...one, bbox: [0, NaN, 1, 1] as const })],
    ['nothing as if it were there', (one: Detection) => ({ ...one, confidence: 0 })],
    ['half the confidence', (one: Detection) => ({ ...one, confidence: one.confidence / 2 })],
  ])('is seen when a device gives %s', (_what, change) => {
    fc.assert(
      fc.property(clearPictures, (all) => {
        expect(disagreement(all, each(all, change))).toBeDefined();
        expect(disagreement(each(all, change), all)).toBeDefined();
      }),
    );
  });

  it('is seen when something is missing or made up, and says what', () => {
    expect(disagreement([[CUP, FORK]], [[CUP]])).toBe('picture 1: it does not find "fork" (0.50)');
    expect(disagreement([[], [CUP]], [[], [CUP, FORK]])).toBe(
      'picture 2: it finds "fork" (0.50) where there is none',
    );
    expect(disagreement([[CUP], []], [[CUP]])).toBe('it did not answer every picture');
  });

  it('compares noise by confidence, so that a blind device is noticed', () => {
    const faint = [0.2, 0.15, 0.1].map((confidence) => ({ ...CUP, confidence }));
    expect(disagreement([faint], [faint.map((one) => ({ ...one, label: 'x' }))])).toBeUndefined();
    expect(disagreement([faint], [[]])).toMatch(/confidence/);
    expect(disagreement([[]], [[]])).toBeUndefined();
  });
});

function shifted([x1, y1, x2, y2]: Detection['bbox']): Detection['bbox'] {
  return [x1 + 1000, y1, x2 + 1000, y2];
}
