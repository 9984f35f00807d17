import { describe, it } from 'vitest';
import { CHAOS_TIMEOUT, expectNothingLost } from '../chaos/brief.js';

describe('jobs in servers that are killed again and again', { timeout: CHAOS_TIMEOUT }, () => {
  it('are neither lost nor doubled, and end as they should', async () => {
    await expectNothingLost('embedded', 8);
  });
});
