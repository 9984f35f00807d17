import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobView } from '../../src/jobs/job-view.js';
import { JobsClient } from '../helpers/jobs-client.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';
import { Tracer } from '../helpers/tracer.js';
import { expectUnharmed } from '../helpers/unharmed.js';

const MiB = 2 ** 20;
const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;
const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
if (!canMount) console.error('SKIPPED: full disks cannot be tried, since nothing may be mounted');
if (!canTrace) console.error('SKIPPED: failing disks cannot be tried without strace');

describe('jobs on a disk', () => {
  let folder: string;
  let server: TestServer;
  let jobs: JobsClient;
  const start = async (): Promise<void> => {
    server = await TestServer.start([stubModels({ one: {} }), '--no-worker'], {
      SHOAL_DATA_DIR: join(folder, 'data'),
    });
    jobs = new JobsClient(server);
  };
  /** A picture of a megabyte, as far as the store is concerned. */
  const large = async (): Promise<Buffer> =>
    Buffer.concat([await solidPng(GREEN), Buffer.alloc(MiB)]);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'shoal-disk-'));
  });
  afterEach(async () => {
    await server.stop();
    spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  it.skipIf(!canMount)('that is full are refused, and taken when there is room', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', folder]);
    const ballast = join(folder, 'ballast');
    writeFileSync(ballast, Buffer.alloc(4 * MiB));
    await start();
    const image = await large();
    const accepted: string[] = [];
    let refused: Response | undefined;
    while (refused === undefined) {
      const response = await jobs.post(image, 'image/png');
      if (response.status === 202) accepted.push(((await response.json()) as JobView).id);
      else refused = response;
    }
    expect(await refused.json()).toMatchObject({ status: 507, code: 'store_full' });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(accepted.length).toBeGreaterThan(0);

    // What is there can be read, and requests do not mind.
    const list = async (): Promise<string[]> =>
      ((await (await jobs.fetch('/jobs?limit=100')).json()) as { jobs: JobView[] }).jobs.map(
        ({ id }) => id,
      );
    expect((await list()).sort()).toEqual([...accepted].sort());
    await expectUnharmed(server);

    rmSync(ballast);
    let again: JobView | undefined;
    await until(async () => {
      const response = await jobs.post(image, 'image/png');
      if (response.status === 202) again = (await response.json()) as JobView;
      return response.status === 202;
    });
    expect((await list()).sort()).toEqual([...accepted, again?.id ?? ''].sort());
  });

  it.skipIf(!canTrace)(
    'that fails are refused, and those that were accepted are still there when it works again',
    async () => {
      await start();
      const { id } = (await (
        await jobs.post(await solidPng(GREEN), 'image/png')
      ).json()) as JobView;
      // Attached to all threads; every write to the disk fails until it is detached again.
      const tracer = new Tracer(server.pid);
      await tracer.attached();
      const refusal = await jobs.post(await solidPng(GREEN), 'image/png');
      expect(await refusal.json()).toMatchObject({ status: 503, code: 'store_unavailable' });
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 503);
      expect((await fetch(`${server.url}/readyz?only=predict`)).status).toBe(200);
      await tracer.detach();
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
      const later = await jobs.post(await solidPng(GREEN), 'image/png');
      expect(later.status).toBe(202);
      expect(await jobs.get(id)).toMatchObject({ id, state: 'queued' });
      await expectUnharmed(server);
    },
  );
});
