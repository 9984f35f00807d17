import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderOf, JobsRun } from '../../helpers/jobs-run.js';
import { JobsServer } from '../../helpers/jobs-server.js';

let server: JobsServer;
let jobs: JobsRun;
beforeEach(async () => {
  server = await JobsServer.start();
  jobs = new JobsRun(server.url);
});
afterEach(() => server.close());

const photos = (...texts: string[]) =>
  folderOf(Object.fromEntries(texts.map((text, at) => [`${String(at)}.jpg`, text])));

describe('shoal jobs submit, when something goes wrong', () => {
  it.each(['queue_full', 'store_unavailable', 'store_full'] as const)(
    'comes back after %s when the server says, with a note',
    async (code) => {
      server.faults['POST /jobs'] = [{ code, retryAfter: 3 }, { code, retryAfter: 7 }, { code }];
      expect(await jobs.run('submit', photos('a'), '--wait')).toBe(0);
      expect(jobs.slept.slice(0, 3)).toEqual([3000, 7000, 1000]);
      expect(server.jobs.size).toBe(1);
      expect(jobs.stderr).toContain(`A fault: ${code} (${code}); next try in 3.0 s\n`);
    },
  );

  it('tells the same trouble of many images once', async () => {
    server.faults['POST /jobs'] = Array.from({ length: 8 }, () => ({ code: 'queue_full' }));
    expect(await jobs.run('submit', photos('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'))).toBe(0);
    expect(jobs.stderr.match(/next try in/g)).toHaveLength(1);
    expect(server.jobs.size).toBe(8);
  });

  it.each(['dropped', 'lost'] as const)(
    'sends again with the same key when a request was %s, and makes no second job',
    async (fault) => {
      server.faults['POST /jobs'] = [fault, fault];
      expect(await jobs.run('submit', photos('a'), '--wait')).toBe(0);
      const sent = server.requestsOf('POST /jobs');
      expect(sent).toHaveLength(3);
      expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
      expect(server.jobs.size).toBe(1);
      expect(jobs.lines).toHaveLength(1);
      expect(jobs.lines[0]).toMatchObject({ state: 'completed' });
    },
  );

  it('reports an image that the server hangs up on, and goes on with the rest', async () => {
    server.faults['POST /jobs'] = ['dropped', 'dropped', 'dropped'];
    expect(await jobs.run('submit', photos('large', 'b'), '--wait', '--concurrency', '1')).toBe(1);
    expect(jobs.lines[0]).toMatchObject({
      file: expect.stringContaining('0.jpg') as string,
      state: 'refused',
      problem: { code: 'connection_closed' },
    });
    expect(jobs.lines[1]).toMatchObject({ state: 'completed' });
  });

  it('goes on where it was with the same --resume-key, and only then', async () => {
    const folder = photos('a', 'a', 'c');
    await jobs.run('submit', folder, '--resume-key', 'night-1');
    expect(server.jobs.size).toBe(3);
    const again = new JobsRun(server.url);
    await again.run('submit', folder, '--resume-key', 'night-1', '--wait');
    expect(server.jobs.size).toBe(3);
    expect(again.lines.map(({ state }) => state)).toEqual(Array(3).fill('completed'));
    await new JobsRun(server.url).run('submit', folder);
    expect(server.jobs.size).toBe(6);
  });

  it('survives a restart of the server while it submits and while it waits', async () => {
    server.faults['POST /jobs'] = ['dropped'];
    server.faults['GET /jobs/{id}'] = ['dropped'];
    const restart = [() => server.close(), () => server.listen()];
    const events = [...restart, ...restart];
    jobs.onSleep = async () => {
      await events.shift()?.();
      if (events.length > 0) return;
      for (const { id } of server.views()) server.finish(id, 'completed');
    };
    expect(await jobs.run('submit', photos('slow'), '--wait')).toBe(0);
    expect(events).toEqual([]);
    expect(server.jobs.size).toBe(1);
    expect(jobs.lines.map(({ state }) => state)).toEqual(['completed']);
    expect(jobs.stderr).toContain('does not answer');
  });

  it('gives up on a server that stays away, and says how to go on', async () => {
    server.faults['GET /jobs/{id}'] = ['dropped'];
    const events = [() => server.close()];
    jobs.onSleep = async () => {
      await events.shift()?.();
    };
    const run = jobs.run('submit', photos('a'), '--wait', '--patience', '20');
    await expect(run).rejects.toThrow(`no server runs at ${server.url} (ECONNREFUSED)`);
    await server.listen();
    expect(jobs.slept.reduce((sum, ms) => sum + ms)).toBeGreaterThanOrEqual(20_000);
    expect(jobs.stderr).toMatch(
      /1 of 1 image had been submitted; 1 of them .*\n.*\n.*--resume-key/,
    );
  });

  it('does not wait for a server that is not there from the start', async () => {
    await server.close();
    const run = jobs.run('submit', photos('a'), '--wait');
    await expect(run).rejects.toThrow('start one with "shoal serve"');
    await server.listen();
    expect(jobs.slept).toEqual([]);
  });

  it('says which jobs the server has forgotten', async () => {
    server.onRequest = ({ method, path }) => {
      if (method === 'GET' && path !== '/jobs') server.jobs.clear();
    };
    expect(await jobs.run('submit', photos('a'), '--wait')).toBe(1);
    expect(jobs.lines[0]).toMatchObject({ state: 'unknown', problem: { code: 'job_not_found' } });
  });

  it('does not ask in a loop where long polls come back at once', async () => {
    server.isPatient = false;
    jobs.onSleep = () => {
      const [id = ''] = server.jobs.keys();
      if (jobs.slept.length === 3) server.finish(id, 'completed');
      return Promise.resolve();
    };
    expect(await jobs.run('submit', photos('slow'), '--wait')).toBe(0);
    expect(jobs.slept).toEqual([500, 500, 500]);
  });

  it('ends on Ctrl-C and says how many jobs are left and how to see them', async () => {
    const folder = photos('a', 'slow', 'slow', 'slow');
    // When the one that ends is written and the others are asked about.
    const check = () => {
      const polls = server.requests.filter(({ method, path }) =>
        `${method} ${path}`.startsWith('GET /jobs/'),
      );
      if (new Set(polls.map(({ path }) => path)).size === 4 && jobs.lines.length === 1) {
        jobs.interrupt.abort();
      }
    };
    server.onRequest = () => setImmediate(check);
    jobs.onWrite = () => setImmediate(check);
    expect(await jobs.run('submit', folder, '--wait')).toBe(130);
    expect(jobs.lines).toHaveLength(1);
    expect(jobs.stderr).toContain('4 of 4 images had been submitted; 3 of them have not ended');
    expect(jobs.stderr).toContain(`to see them: shoal jobs list --url ${server.url}\n`);
  });

  it('ends quietly when nobody reads the results any more', async () => {
    jobs.onWrite = () => {
      throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    };
    expect(await jobs.run('submit', photos('a', 'slow'), '--wait')).toBe(0);
    expect(jobs.stderr).toBe('');
  });

  it('stops when the results cannot be written', async () => {
    jobs.onWrite = () => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    };
    const run = jobs.run('submit', photos('a', 'slow'), '--wait');
    await expect(run).rejects.toThrow('cannot write the results: no space');
  });

  it('reports a file that cannot be read, and goes on', async () => {
    const folder = photos('a', 'b');
    server.faults['POST /jobs'] = ['dropped'];
    const file = join(folder, '1.jpg');
    // The only one that sends waits meanwhile.
    jobs.onSleep = () => {
      rmSync(file, { force: true });
      return Promise.resolve();
    };
    expect(await jobs.run('submit', folder, '--concurrency', '1')).toBe(1);
    expect(jobs.lines).toContainEqual({
      file,
      job: null,
      state: 'refused',
      problem: { code: 'unreadable_file', detail: expect.stringContaining('ENOENT') as string },
    });
    expect(server.jobs.size).toBe(1);
  });
});
