import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newJobId } from '../../../src/jobs/job.js';
import type { JobView } from '../../../src/jobs/job-view.js';
import { JobsRun } from '../../helpers/jobs-run.js';
import { JobsServer } from '../../helpers/jobs-server.js';

let server: JobsServer;
let jobs: JobsRun;
beforeEach(async () => {
  server = await JobsServer.start();
  jobs = new JobsRun(server.url);
});
afterEach(() => server.close());

const statesOf = () => server.views().map(({ state }) => state);

describe('shoal jobs list', () => {
  it('shows the newest in a table', async () => {
    for (let at = 0; at < 30; at++) server.add(['x'], at === 29 ? 'failed' : 'queued');
    expect(await jobs.run('list')).toBe(0);
    const lines = jobs.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^id +state +model +images +age +ran$/);
    expect(lines[1]).toMatch(/^job_\S{24} {2}failed +one +0\/1 +9 min 31 s +–$/);
  });

  it('goes through all pages, as lines of JSON', async () => {
    for (let at = 0; at < 250; at++) server.add(['x'], at % 2 === 0 ? 'failed' : 'queued');
    expect(await jobs.run('list', '--all', '--json')).toBe(0);
    const ids = jobs.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as JobView).id);
    expect(ids).toEqual([...server.jobs.keys()].reverse());
    expect(server.requests).toHaveLength(3);
  });

  it('keeps to a state and a limit', async () => {
    for (let at = 0; at < 300; at++) server.add(['x'], at % 2 === 0 ? 'failed' : 'queued');
    expect(await jobs.run('list', '--state', 'failed', '--limit', '120')).toBe(0);
    expect(jobs.stdout.match(/failed/g)).toHaveLength(120);
    expect(jobs.stdout).not.toContain('queued');
  });

  it('says when there is nothing', async () => {
    expect(await jobs.run('list')).toBe(0);
    expect([jobs.stdout, jobs.stderr]).toEqual(['', 'There are no such jobs.\n']);
  });

  it('waits for a busy server, but not for one that is away', async () => {
    server.faults['GET /jobs'] = [{ code: 'rate_limited', retryAfter: 2 }, 'dropped'];
    await expect(jobs.run('list')).rejects.toThrow(`${server.url} does not answer`);
    expect(jobs.slept).toEqual([2000]);
    expect(jobs.stderr).toContain('(rate_limited); next try in 2.0 s\n');
  });

  it('says that no server runs there, and how to start one', async () => {
    await server.close();
    await expect(jobs.run('list')).rejects.toThrow(
      `no server runs at ${server.url} (ECONNREFUSED); start one with "shoal serve"`,
    );
    await server.listen();
  });

  it('ends quietly when nobody reads any more', async () => {
    for (let at = 0; at < 250; at++) server.add(['x']);
    jobs.onWrite = () => {
      throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    };
    expect(await jobs.run('list', '--all')).toBe(0);
    expect([jobs.stderr, server.requests.length]).toEqual(['', 1]);
  });
});

describe('shoal jobs show and wait', () => {
  it('show a job with its results', async () => {
    const { id } = server.add(['cat', 'odd']);
    server.finish(id, 'completed');
    expect(await jobs.run('show', id)).toBe(0);
    expect(jobs.stdout).toContain(`${id}  completed\n`);
    expect(jobs.stdout).toContain('image 1     1 detection in 7 ms\n    cat  0.90  [1, 2, 3, 4]\n');
    expect(jobs.stdout).toContain('image 2     The image is damaged (invalid_image)\n');
    const asJson = new JobsRun(server.url);
    await asJson.run('show', id, '--json');
    expect(JSON.parse(asJson.stdout)).toEqual(server.views()[0]);
  });

  it('say when there is no such job', async () => {
    const run = jobs.run('show', newJobId());
    await expect(run).rejects.toThrow('There is no such job (job_not_found)');
  });

  it.each([
    ['completed', 0],
    ['failed', 1],
  ] as const)('wait until a job has %s', async (state, code) => {
    const { id } = server.add(['cat']);
    server.onRequest = () => {
      if (server.requests.length < 2) return;
      setImmediate(() => {
        server.finish(id, state);
      });
    };
    server.faults['GET /jobs/{id}'] = [{ code: 'rate_limited' }];
    expect(await jobs.run('wait', id)).toBe(code);
    expect(jobs.stdout).toContain(`${id}  ${state}\n`);
  });

  it('end on Ctrl-C', async () => {
    const { id } = server.add(['slow']);
    server.onRequest = () => {
      if (server.requests.length === 2) jobs.interrupt.abort();
    };
    expect(await jobs.run('wait', id)).toBe(130);
  });
});

describe('shoal jobs cancel, retry and purge', () => {
  it('cancel what has not ended', async () => {
    const [open, ended] = [server.add(['a']), server.add(['b'], 'completed')];
    expect(await jobs.run('cancel', open.id, ended.id)).toBe(0);
    expect(jobs.stdout).toBe(`${open.id}  cancelled\n${ended.id}  stays completed\n`);
  });

  it('go on after one that does not work, and say so at the end', async () => {
    const [open, failed] = [server.add(['a']), server.add(['b'], 'failed')];
    const unknown = newJobId();
    expect(await jobs.run('retry', open.id, unknown, failed.id)).toBe(1);
    expect(jobs.stdout).toBe(`${failed.id}  queued\n`);
    expect(jobs.stderr).toBe(
      `${open.id}: The job has not failed (job_conflict)\n` +
        `${unknown}: There is no such job (job_not_found)\n`,
    );
  });

  it('change all that are in a state, however many', async () => {
    for (let at = 0; at < 150; at++) server.add(['a'], 'failed');
    server.add(['b'], 'cancelled');
    expect(await jobs.run('retry', '--state', 'failed')).toBe(0);
    expect(statesOf().filter((state) => state === 'queued')).toHaveLength(150);
    expect(statesOf().at(-1)).toBe('cancelled');
    const cancel = new JobsRun(server.url);
    expect(await cancel.run('cancel', '--state', 'queued')).toBe(0);
    expect(new Set(statesOf())).toEqual(new Set(['cancelled']));
    expect(await cancel.run('retry', '--state', 'failed')).toBe(0);
    expect(cancel.stderr).toBe('There are no failed jobs.\n');
  });

  it('pass over those that somebody else has changed meanwhile', async () => {
    const [first] = [server.add(['a'], 'failed'), server.add(['b'], 'failed')];
    server.onRequest = ({ method }) => {
      if (method === 'POST') server.finish(first.id, 'completed');
    };
    expect(await jobs.run('retry', '--state', 'failed')).toBe(0);
    expect(statesOf()).toEqual(['completed', 'queued']);
    expect(jobs.stderr).toBe('');
  });

  it('remove what has ended, when that is meant', async () => {
    for (const state of ['queued', 'completed', 'failed', 'expired'] as const) {
      server.add(['a'], state);
    }
    await expect(jobs.run('purge')).rejects.toThrow('say --yes');
    jobs.answer = 'n';
    expect(await jobs.run('purge')).toBe(1);
    expect(jobs.stderr).toContain('? [y/N] Nothing was removed.\n');
    expect(server.jobs.size).toBe(4);
    expect(await jobs.run('purge', '--state', 'failed', '--yes')).toBe(0);
    expect(statesOf()).toEqual(['queued', 'completed', 'expired']);
    jobs.answer = 'y';
    expect(await jobs.run('purge')).toBe(0);
    expect(statesOf()).toEqual(['queued']);
    expect(jobs.stdout).toBe('1 job removed\n2 jobs removed\n');
  });
});

describe('shoal jobs', () => {
  it.each([
    ['lits', 'did you mean list?'],
    ['frobnicate', 'see shoal jobs --help'],
    ['toString', 'there is no'],
  ])('does not know %s', async (name, message) => {
    await expect(jobs.run(name)).rejects.toThrow(message);
  });

  it('explains itself', async () => {
    expect(await jobs.run('--help')).toBe(0);
    expect(await jobs.run('submit', '--help')).toBe(0);
    expect(jobs.stdout).toContain('Usage: shoal jobs <command>');
    expect(jobs.stdout).toContain('Usage: shoal jobs submit <path>…');
    expect(server.requests).toEqual([]);
  });

  it('says when something else answers', async () => {
    const other = createServer((_request, response) => response.end('<h1>It works</h1>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const run = new JobsRun(`http://127.0.0.1:${String(port)}`).run('list');
    await expect(run).rejects.toThrow('is not a Shoal server');
    other.close();
    other.closeAllConnections();
  });
});
