import { describe, expect, it } from 'vitest';
import type { ItemOutcome } from '../../src/engine/messages.js';
import { asItem, splitChecks } from '../../src/engine-process/check.js';

const image = {
  format: 'png',
  width: 1,
  height: 1,
  orientation: 1,
  components: 3,
  depth: 8,
  progressive: false,
} as const;
const batch = { size: 2, session: 'narrow', laneMs: 3 } as const;
const timings = { decodeMs: 1, inferMs: 1, postMs: 1 };
const found = (id: number): ItemOutcome => ({ id, detections: [], timings });
const idOf = (check: number): number =>
  asItem({ id: check, threshold: 0, timeLeftMs: 1, image }).id;

describe('checks', () => {
  it('ride with items and are reported apart from them', () => {
    const { results, checked } = splitChecks({ batch, items: [found(7), found(idOf(7))] });
    expect(results).toEqual({ batch, items: [found(7)] });
    expect(checked).toEqual([{ id: 7, detections: [] }]);
  });

  it('say why there is no answer', () => {
    const error = { code: 'invalid_image', detail: 'broken' } as const;
    const { results, checked } = splitChecks({
      items: [
        { id: idOf(1), error },
        { id: idOf(2), dropped: 'expired', stage: 'undecoded' },
      ],
    });
    expect(results).toBeUndefined();
    expect(checked).toEqual([
      { id: 1, error: 'broken' },
      { id: 2, error: 'it was expired' },
    ]);
  });

  it('leave a report without checks as it is', () => {
    const report = { items: [found(1), found(2)] };
    expect(splitChecks(report)).toEqual({ results: report, checked: [] });
    expect(splitChecks({ batch, items: [found(idOf(1))] }).results).toEqual({ batch, items: [] });
  });
});
