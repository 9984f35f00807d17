import { describe, expect, it } from 'vitest';
import { Recorder } from '../../src/load/recorder.js';
import { latencyOf } from '../../src/tune/finding.js';
import { found, pacedVisit, visitOf } from '../helpers/findings.js';

describe('a finding', () => {
  it('is the median of the final rounds, and the search does not count', () => {
    const { imagesPerSecond, p99Ms, p50Ms, isFinalist, rate } = found(
      [2, 1, 4],
      visitOf(500, 1, 0),
      visitOf(80, 40, 1),
      visitOf(100, 60, 2),
      visitOf(20, 50, 3),
    );
    expect({ imagesPerSecond, p99Ms, p50Ms, isFinalist, rate }).toEqual({
      imagesPerSecond: 80,
      p99Ms: 50,
      p50Ms: 25,
      isFinalist: true,
      rate: null,
    });
  });

  it('is that of the search where there is nothing else', () => {
    const finding = found([2, 1, 4], visitOf(500, 1, 0));
    expect(finding).toMatchObject({ imagesPerSecond: 500, p99Ms: 1, isFinalist: false });
  });

  it('has the latencies at the rate, where there is one', () => {
    const finding = found([2, 1, 4], pacedVisit(100, 30, 0.98));
    expect(finding).toMatchObject({ imagesPerSecond: 100, p99Ms: 30, okShare: 0.98, rate: 70 });
  });

  it('knows nothing where nothing was answered', () => {
    expect(found([2, 1, 4], visitOf(0, null))).toMatchObject({ p50Ms: null, p99Ms: null });
    const { result } = new Recorder().finish(1, 1);
    expect(latencyOf(result)).toEqual({ p50Ms: null, p99Ms: null, okShare: 0 });
  });

  it('has no memory where the system does not say', () => {
    const visit = { ...visitOf(1, 1), memoryBytes: null };
    expect(found([1, 1, 1], visit).memoryBytes).toBeNull();
    expect(found([1, 1, 1], visit, visitOf(1, 1)).memoryBytes).toBe(2 ** 28);
  });
});
