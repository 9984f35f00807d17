import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Random } from '../../src/load/random.js';
import { stubModels } from '../helpers/server.js';
import { Member } from './member.js';

export type StoreKind = 'embedded' | 'redis';

/** The processes that share a store. */
export interface Fleet {
  readonly members: readonly Member[];
  /** Those whose end is everybody's problem, and so is rarer. */
  readonly store: Member | undefined;
  readonly urls: readonly string[];
}

export const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;

/** A model that takes long enough to be killed while it runs. */
const MODEL = { sleep_ms: 25 };

const ENVIRONMENT = {
  NODE_ENV: 'test',
  SHOAL_LOG_FORMAT: 'json',
  SHOAL_PROFILE: 'off',
  SHOAL_MAX_WAIT_MS: '600000',
  SHOAL_SESSIONS: '2',
  SHOAL_MAX_BATCH: '2',
  SHOAL_WEBHOOK_ALLOW: '127.0.0.1',
  SHOAL_WEBHOOK_SECRETS: WEBHOOK_SECRET,
  // A worker that was killed is missed soon.
  SHOAL_JOB_LEASE_MS: '2000',
};

export async function assemble(kind: StoreKind, folder: string, random: Random): Promise<Fleet> {
  const models = stubModels({ stub: MODEL });
  const ports = new Set<number>();
  const claimPort = async (): Promise<string> => {
    const port = await freePort(kind, random, ports);
    ports.add(port);
    return String(port);
  };
  const shoal = (name: string, args: readonly string[], queue: Record<string, string>): Member =>
    new Member({
      name,
      command: process.execPath,
      args: ['dist/cli/main.js', ...args, models],
      environment: { ...ENVIRONMENT, ...queue },
      ready: /"msg":"listening"/,
    });

  if (kind === 'embedded') {
    const port = await claimPort();
    const queue = { SHOAL_QUEUE: 'embedded', SHOAL_DATA_DIR: folder };
    const member = shoal('server', ['serve', '--port', port], queue);
    return { members: [member], store: undefined, urls: [urlOf(port)] };
  }
  const redisPort = await claimPort();
  const redis = new Member({
    name: 'redis',
    command: 'redis-server',
    args: [
      ...['--port', redisPort, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    environment: {},
    ready: /Ready to accept connections/,
  });
  const queue = { SHOAL_QUEUE: `redis://127.0.0.1:${redisPort}` };
  const members: Member[] = [];
  const urls: string[] = [];
  for (const at of [1, 2]) {
    const port = await claimPort();
    urls.push(urlOf(port));
    members.push(shoal(`api ${String(at)}`, ['serve', '--no-worker', '--port', port], queue));
    const ownPort = await claimPort();
    members.push(shoal(`worker ${String(at)}`, ['worker', '--port', ownPort], queue));
  }
  return { members, store: redis, urls };
}

const FIRST_PORTS: Readonly<Record<StoreKind, number>> = { embedded: 20_000, redis: 25_000 };

/** Where the embedded store keeps its jobs. */
export function databaseFile(folder: string): string {
  return join(folder, 'jobs.sqlite');
}

function urlOf(port: string): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * The same one for all restarts, so not from where the system takes those of outgoing calls, nor
 * where another kind of fleet that runs beside this one does.
 */
async function freePort(
  kind: StoreKind,
  random: Random,
  taken: ReadonlySet<number>,
): Promise<number> {
  for (;;) {
    const port = FIRST_PORTS[kind] + Math.floor(random() * 5000);
    if (taken.has(port)) continue;
    const server = createServer();
    const isFree = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, '127.0.0.1');
    if (!(await isFree)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
