import { ConfigError } from '../../config/load.js';
import type { JobStore } from '../job-store.js';
import { checkServer } from './checks.js';
import { addressOf } from './connection.js';
import { Link } from './link.js';
import { RedisStore, type RedisStoreOptions } from './store.js';
import { OPEN_MS } from './timing.js';

/**
 * A submission that fails with `store_unavailable` may have been made all the same. With an
 * idempotency key it can be sent again without harm.
 *
 * @throws ConfigError when there is no Redis, or one that would lose jobs
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<JobStore> {
  const { url, limits, log } = options;
  const api = new Link({ ...options, name: 'api', temper: 'fast' });
  let store: RedisStore | undefined;
  try {
    await api.open(OPEN_MS);
    await checkServer(api.client, limits.maxBytes, log);
    store = new RedisStore(api, options);
    await store.ready();
    return store;
  } catch (error) {
    await store?.close();
    api.close();
    if (error instanceof ConfigError) throw error;
    const reason = error instanceof Error ? error.message : 'unknown';
    throw new ConfigError(`cannot reach Redis at ${addressOf(url)}: ${reason}`);
  }
}
