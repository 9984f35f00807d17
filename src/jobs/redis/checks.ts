import { ConfigError } from '../../config/load.js';
import type { Log } from '../../telemetry/log.js';
import type { RedisClient } from './connection.js';
import { infoValue } from './memory.js';

const OLDEST = [6, 2] as const;

/** What Redis says about itself; `undefined` where it does not want to. */
export interface Findings {
  readonly version: string | undefined;
  readonly policy: string | undefined;
  readonly isCluster: boolean;
  readonly isAppending: boolean | undefined;
  readonly fsync: string | undefined;
  readonly maxMemory: number;
}

export async function inspect(client: RedisClient): Promise<Findings> {
  const info = await client.info();
  const isAppending = infoValue(info, 'aof_enabled');
  return {
    version: infoValue(info, 'redis_version'),
    // Managed servers often forbid CONFIG.
    policy: (await setting(client, 'maxmemory-policy')) ?? infoValue(info, 'maxmemory_policy'),
    isCluster: infoValue(info, 'cluster_enabled') === '1',
    isAppending: isAppending === undefined ? undefined : isAppending === '1',
    fsync: await setting(client, 'appendfsync'),
    maxMemory: Number(infoValue(info, 'maxmemory') ?? 0),
  };
}

async function setting(client: RedisClient, name: string): Promise<string | undefined> {
  try {
    const answer = (await client.config('GET', name)) as string[];
    return answer[1];
  } catch {
    return undefined;
  }
}

/** Why jobs cannot be kept there; one line for the operator. */
export function objection({ version, policy, isCluster }: Findings): string | undefined {
  if (version !== undefined && isOlder(version)) {
    return `Redis ${version} is too old for jobs: ${OLDEST.join('.')} or newer is needed`;
  }
  if (isCluster) return 'Redis Cluster cannot keep jobs: a single Redis server is needed';
  if (policy !== undefined && policy !== 'noeviction') {
    return `Redis would throw jobs away when its memory is full: set maxmemory-policy to noeviction (it is ${policy})`;
  }
  return undefined;
}

/** What the operator should know, although it works. */
export function warnings(findings: Findings, maxBytes: number): string[] {
  const { policy, isAppending, fsync, maxMemory } = findings;
  const all: string[] = [];
  if (policy === undefined) {
    all.push('Redis does not say its maxmemory-policy: jobs are lost unless it is noeviction');
  }
  if (isAppending === false) {
    all.push('Redis has no append-only file: if it crashes, jobs since its last snapshot are lost');
  } else if (isAppending === true && fsync !== undefined && fsync !== 'always') {
    all.push(
      `Redis writes its append-only file with appendfsync ${fsync}: if it crashes, jobs of the last moments may be lost`,
    );
  }
  if (maxMemory > 0 && maxBytes > maxMemory) {
    all.push('max_store_bytes is more than Redis may use (maxmemory): jobs are refused before');
  }
  return all;
}

/** @throws {@link ConfigError} when jobs would not be safe there */
export async function checkServer(client: RedisClient, maxBytes: number, log: Log): Promise<void> {
  const findings = await inspect(client);
  const problem = objection(findings);
  if (problem !== undefined) throw new ConfigError(problem);
  for (const warning of warnings(findings, maxBytes)) log.warn(warning);
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
