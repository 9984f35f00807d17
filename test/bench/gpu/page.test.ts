import { describe, expect, it } from 'vitest';
import { resultsPage } from '../../../bench/gpu/page.js';
import { emptyResults } from '../../../bench/gpu/results.js';
import { rawTable } from '../../../bench/gpu/tables.js';
import { rawRow, servedRow } from './rows.js';

describe('the page', () => {
  it('has only the parts there are', () => {
    const results = emptyResults(6, 'today');
    expect(resultsPage(results)).not.toContain('## Served');
    results.served.push(servedRow({ concurrency: 64, perSecond: 3210, ratio: 0.876 }));
    const page = resultsPage(results);
    expect(page).toContain('## Served');
    expect(page).toMatch(/\| cuda \| none \| raw \| 64 \| 3210 \| 2000 \| 0\.876 \|/);
    expect(page).not.toContain('## Soak');
  });

  it('says what failed on one line, whatever was written', () => {
    const results = emptyResults(6, 'today');
    results.failures.push({ part: 'raw', what: 'cuda', why: 'no\n  library | found' });
    expect(resultsPage(results)).toContain('- raw, cuda: no library \\| found');
  });

  it('tells how the automatic plan compares, by device', () => {
    const results = emptyResults(6, 'today');
    results.sweep.push(
      servedRow({ perSecond: 95 }),
      servedRow({ setting: '--sessions 2', perSecond: 100 }),
      servedRow({ device: 'webgpu', perSecond: 50 }),
      servedRow({ device: 'webgpu', setting: '--max-batch 8', perSecond: 50 }),
    );
    const page = resultsPage(results);
    expect(page).toContain('- cuda: the automatic plan reaches 0.950 of the best by hand');
    expect(page).toContain('- webgpu: the automatic plan reaches 1.000 of the best by hand');
  });

  it('has batch sizes down and loops across, with gaps where one failed', () => {
    const rows = [
      rawRow({ batch: 8, perSecond: 100 }),
      rawRow({ batch: 1, perSecond: 20 }),
      rawRow({ batch: 8, perSecond: 300, sessions: 2 }),
    ];
    expect(rawTable(rows).split('\n')).toEqual([
      '| batch | cuda fp32, 1 × 1 | cuda fp32, 2 × 1 |',
      '| --- | --- | --- |',
      '| 1 | 20.0 | – |',
      '| 8 | 100 | 300 |',
    ]);
  });
});
