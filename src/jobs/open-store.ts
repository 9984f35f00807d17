import { defaultDataFolder } from '../config/environment.js';
import type { Config } from '../config/schema.js';
import type { Log } from '../telemetry/log.js';
import type { JobStore, StoreLimits } from './job-store.js';

/**
 * The store that the settings ask for; `undefined` when they ask for none. Only that one is loaded:
 * the clients of Redis alone take 15 MB.
 */
export async function openStore(config: Config, log: Log): Promise<JobStore | undefined> {
  const limits: StoreLimits = {
    maxOpenJobs: config.max_open_jobs,
    maxBytes: config.max_store_bytes,
    keepMs: config.job_keep_s * 1000,
    keepCount: config.job_keep_count,
    leaseMs: config.job_lease_ms,
  };
  if (config.queue === 'off') return undefined;
  if (config.queue !== 'embedded') {
    const { openRedisStore } = await import('./redis/open.js');
    return openRedisStore({ url: config.queue, prefix: config.queue_prefix, limits, log });
  }
  const { EmbeddedStore } = await import('./embedded/embedded-store.js');
  const folder = config.data_dir === '' ? defaultDataFolder() : config.data_dir;
  return EmbeddedStore.open({ folder, limits, log });
}
