import { describe, expect, it } from 'vitest';
import { eventLoopP99Ms, meanBatch, metricSum } from '../../../bench/gpu/exposition.js';

const text = (sum: number, count: number): string =>
  [
    '# HELP inference_batch_size Images per batch that ran.',
    `inference_batch_size_sum{model="a b"} ${String(sum)}`,
    `inference_batch_size_count{model="a b"} ${String(count)}`,
    'shoal_event_loop_delay_seconds{quantile="0.5"} 0.9',
    'shoal_event_loop_delay_seconds{quantile="0.99",process="1"} 0.002',
    'shoal_event_loop_delay_seconds{quantile="0.99",process="2"} 0.012',
    'shoal_draining 0',
  ].join('\n');

describe('metrics', () => {
  it('give the mean batch between two readings', () => {
    expect(meanBatch(text(10, 10), text(90, 20))).toBe(8);
    expect(meanBatch(text(10, 10), text(10, 10))).toBeNaN();
  });

  it('give the worst event loop', () => {
    expect(eventLoopP99Ms(text(0, 0))).toBe(12);
    expect(eventLoopP99Ms('')).toBe(0);
  });

  it('are summed over labels, and 0 when there are none', () => {
    expect(metricSum('a{x="1"} 2\na{x="2"} 3\nab 7', 'a')).toBe(5);
    expect(metricSum('', 'a')).toBe(0);
  });
});
