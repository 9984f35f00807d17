import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/load.js';
import { EmbeddedStore } from '../../src/jobs/embedded/embedded-store.js';
import { LIMITS, newJob, type StoreHarness } from '../helpers/jobs.js';
import { describeStore } from '../jobs/store-conformance.js';
import { describeStoreEnds } from '../jobs/store-conformance-ends.js';
import { describeStoreLasting } from '../jobs/store-conformance-lasting.js';

const entry = pathToFileURL(resolve('dist/jobs/embedded/thread.js'));
const log = pino({ level: 'silent' });

function createHarness(): Promise<StoreHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-jobs-'));
  return Promise.resolve({
    open: (limits = {}) =>
      EmbeddedStore.open({ folder, limits: { ...LIMITS, ...limits }, log, entry }),
    crash: (store) => (store as EmbeddedStore).kill(),
    cleanUp: () => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  });
}

describeStore('embedded', createHarness);
describeStoreEnds('embedded', createHarness);
describeStoreLasting('embedded', createHarness);

describe('the folder of the embedded store', () => {
  it('belongs to one server; another one is told so', async () => {
    const harness = await createHarness();
    const store = await harness.open();
    const second = await harness.open().catch((error: unknown) => error);
    expect(second).toBeInstanceOf(ConfigError);
    expect((second as Error).message).toContain(`used by process ${String(process.pid)}`);
    await store.submit(newJob());
    await store.close();
    await (await harness.open()).close();
    await harness.cleanUp();
  });

  it('shows the images of clients to nobody else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-jobs-'));
    chmodSync(folder, 0o755);
    const store = await EmbeddedStore.open({ folder, limits: LIMITS, log, entry });
    await store.submit(newJob());
    for (const name of readdirSync(folder).filter((file) => file.startsWith('jobs.'))) {
      expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
    }
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('must be usable', async () => {
    const options = { folder: '/dev/null/jobs', limits: LIMITS, log, entry };
    const error = await EmbeddedStore.open(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toContain('--data-dir');
  });
});
