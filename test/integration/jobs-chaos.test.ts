import { describe, expect, it } from 'vitest';
import { runChaos } from '../chaos/run.js';
import { isWithoutRedis } from '../helpers/redis.js';

/** A few kills of what `npm run chaos` does for longer. */
async function expectNothingLost(store: 'embedded' | 'redis', cycles: number): Promise<void> {
  const seed = Math.floor(Math.random() * 1_000_000);
  const report = await runChaos({
    store,
    cycles,
    jobs: 250,
    seed,
    drainMs: 120_000,
    tell: () => undefined,
  });
  expect(report.violations, `seed ${String(seed)}`).toEqual([]);
  expect(report.counts['acknowledged']).toBeGreaterThan(100);
  expect(report.counts['kills']).toBeGreaterThanOrEqual(cycles);
}

describe('jobs in servers that are killed again and again', { timeout: 240_000 }, () => {
  it('are neither lost nor doubled, and end as they should', async () => {
    await expectNothingLost('embedded', 8);
  });

  it.skipIf(isWithoutRedis('servers and workers that are killed'))(
    'are neither lost nor doubled on Redis, which is killed too',
    async () => {
      await expectNothingLost('redis', 5);
    },
  );
});
