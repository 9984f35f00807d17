import { describe, expect, it } from 'vitest';
import { runChaos } from '../chaos/run.js';

describe('jobs in a server that is killed again and again', () => {
  it('are neither lost nor doubled, and end as they should', { timeout: 180_000 }, async () => {
    const seed = Math.floor(Math.random() * 1_000_000);
    const report = await runChaos({
      store: 'embedded',
      cycles: 8,
      jobs: 250,
      seed,
      drainMs: 120_000,
      tell: () => undefined,
    });
    expect(report.violations, `seed ${String(seed)}`).toEqual([]);
    expect(report.counts['acknowledged']).toBeGreaterThan(100);
    expect(report.counts['kills']).toBeGreaterThanOrEqual(8);
  });
});
