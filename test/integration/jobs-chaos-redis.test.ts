import { describe, it } from 'vitest';
import { CHAOS_TIMEOUT, expectNothingLost } from '../chaos/brief.js';
import { isWithoutRedis } from '../helpers/redis.js';

describe.skipIf(isWithoutRedis('servers and workers that are killed'))(
  'jobs in servers and workers that are killed again and again',
  { timeout: CHAOS_TIMEOUT },
  () => {
    it('are neither lost nor doubled on Redis, which is killed too', async () => {
      await expectNothingLost('redis', 5);
    });
  },
);
