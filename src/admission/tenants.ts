import { createHash } from 'node:crypto';
import type { Config } from '../config/schema.js';
import { Tenant } from './tenant.js';

const UNLIMITED = { weight: 1, rate: 0, concurrency: 0, queueShare: 1 };

/** Everybody, where no keys are asked for. */
export function anonymousTenant(): Tenant {
  return new Tenant({ ...UNLIMITED, name: 'anonymous', owner: 'anonymous', isBackground: false });
}

/** Somebody whose jobs are run here and whose key is known elsewhere. */
export function backgroundTenant(owner: string): Tenant {
  return new Tenant({ ...UNLIMITED, name: owner, owner, isBackground: true });
}

/** The tenants by their keys: named ones, and one for each plain key. */
export function tenantsByKey(config: Config): Map<string, Tenant> {
  const plain = config.api_keys.map((api_key, at) => ({
    api_key,
    name: `key-${String(at + 1)}`,
    owner: `key:${createHash('sha256').update(`shoal owner ${api_key}`).digest('hex').slice(0, 32)}`,
  }));
  const named = config.tenants.map((entry) => ({ ...entry, owner: `tenant:${entry.name}` }));
  const entries: (Config['tenants'][number] & { owner: string })[] = [...named, ...plain];
  // Alone, a tenant has nobody to leave room for.
  const share = entries.length > 1 ? config.key_queue_share : 1;
  return new Map(
    entries.map((entry) => [
      entry.api_key,
      new Tenant({
        name: entry.name,
        owner: entry.owner,
        weight: entry.weight ?? 1,
        rate: entry.rate ?? config.key_rate,
        concurrency: entry.concurrency ?? config.key_concurrency,
        queueShare: entry.queue_share ?? share,
        isBackground: entry.priority === 'background',
      }),
    ]),
  );
}
