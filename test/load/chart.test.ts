import { describe, expect, it } from 'vitest';
import { bar, figure, histogramChart, rateChart } from '../../src/load/chart.js';

describe('bars', () => {
  it.each([
    [10, '██████████'],
    [5, '█████'],
    [5.5, '█████▌'],
    [0.001, '▏'],
    [0, ''],
    [Number.NaN, ''],
    [20, '██████████'],
  ])('%d of 10 in ten characters is %j', (value, drawn) => {
    expect(bar(value, 10, 10)).toBe(drawn);
  });
});

describe('charts', () => {
  it('show how values spread', () => {
    const values = [1, 1, 1, 1, 30, 1000];
    expect(histogramChart(values, 3, 8)).toEqual([
      '1.00 – 10.0  ████████ 4',
      ' 10.0 – 100  ██ 1',
      ' 100 – 1000  ██ 1',
    ]);
    expect(histogramChart([])).toEqual([]);
  });

  it('show goodput and latency against the rate', () => {
    const points = [
      { rate: 10, goodput: 10, p99: 20 },
      { rate: 200, goodput: 40, p99: 80 },
      { rate: 400, goodput: 0, p99: null },
    ];
    expect(rateChart(points, 8)).toEqual([
      'rate/s  goodput/s         p99 ms',
      '  10.0  ██ 10.0           ██ 20.0',
      '   200  ████████ 40.0     ████████ 80.0',
      '   400  0.00              –',
    ]);
  });

  it('write figures with three digits', () => {
    expect([0, 1.234, 9.999, 12.34, 99.96, 1234.5].map(figure)).toEqual([
      '0.00',
      '1.23',
      '10.0',
      '12.3',
      '100',
      '1235',
    ]);
  });
});
