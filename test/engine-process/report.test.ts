import { describe, expect, it } from 'vitest';
import { type Report, reportText } from '../../src/engine-process/report.js';

describe('reportText', () => {
  it('writes what the server reads', () => {
    const detections = [{ label: 'a "cat"', confidence: 0.5, bbox: [1, 2, 3, 4] }];
    const timings = { decodeMs: 1.5, inferMs: 2, postMs: 0.25 };
    const report: Report = {
      batch: { size: 2, session: 'narrow', laneMs: 7 },
      items: [
        { id: 1, found: JSON.stringify(detections), timings },
        { id: 2, error: { code: 'invalid_image', detail: 'broken' } },
        { id: 3, dropped: 'expired', stage: 'decoded' },
      ],
    };
    const [, error, dropped] = report.items;
    expect(JSON.parse(reportText(report))).toEqual({
      batch: report.batch,
      items: [{ id: 1, detections, timings }, error, dropped],
    });
  });

  it('leaves the batch out where none ran, and takes an empty list', () => {
    expect(JSON.parse(reportText({ items: [] }))).toEqual({ items: [] });
  });
});
