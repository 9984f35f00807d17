import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResultLine } from '../../src/cli/jobs/result-lines.js';
import type { JobView } from '../../src/jobs/job-view.js';
import { folderOf } from '../helpers/jobs-run.js';
import { JobsServer } from '../helpers/jobs-server.js';
import { solidPng } from '../helpers/pictures.js';
import { runCli, runToEnd, stubModels, TestServer, until } from '../helpers/server.js';

const KEY = ['--api-key', 'a-key-for-the-jobs'];

function linesOf<T>(text: string): T[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** A folder of pictures whose reds are these; the stub shows colours as boxes. */
async function picturesOf(reds: readonly number[]): Promise<string> {
  const pictures = reds.map(async (red) => [`${String(red)}.png`, await solidPng([red, 20, 200])]);
  return folderOf(Object.fromEntries(await Promise.all(pictures)) as Record<string, Buffer>);
}

describe('shoal jobs with a server', () => {
  const THROWS = 22;
  const start = (...args: string[]) =>
    TestServer.start([stubModels({ one: { throw_on_red: THROWS } }), ...args], {
      SHOAL_API_KEYS: 'a-key-for-the-jobs',
      SHOAL_MAX_JOB_IMAGES: '4',
    });
  let server: TestServer;
  let idle: TestServer;
  beforeAll(async () => {
    [server, idle] = await Promise.all([start(), start('--no-worker')]);
  });
  afterAll(() => Promise.all([server.stop(), idle.stop()]));

  const jobs = (target: TestServer, name: string, ...args: string[]) =>
    runToEnd(['jobs', name, '--url', target.url, ...KEY, ...args]);
  const listed = async (target: TestServer, ...args: string[]) =>
    linesOf<JobView>((await jobs(target, 'list', '--json', ...args)).stdout);

  it('writes what was seen in every picture of a folder', async () => {
    const folder = await picturesOf([10, 11, 12, 13, 14, 15]);
    const out = join(folder, 'results.jsonl');
    const { code, stdout, stderr } = await jobs(server, 'submit', folder, '--wait', '--out', out);
    expect([code, stdout], stderr).toEqual([0, '']);
    const lines = linesOf<ResultLine>(readFileSync(out, 'utf8'));
    expect(lines.map(({ file }) => file).sort()).toEqual(
      [10, 11, 12, 13, 14, 15].map((red) => join(folder, `${String(red)}.png`)),
    );
    for (const { file, state, detections } of lines) {
      const red = Number(/(\d+)\.png$/.exec(file)?.[1]);
      expect(state).toBe('completed');
      expect(detections).toEqual([
        expect.objectContaining({ label: 'thing', bbox: [red, 20, 200, 255] }),
      ]);
    }
    expect(stderr).toMatch(/6 images in .*: 6 done, 0 failed\n$/);
  });

  it('tells which pictures of a group are bad, whoever finds out', async () => {
    const folder = await picturesOf([20, 21, THROWS, 23, 24]);
    const text = join(folderOf({ 'text.jpg': 'not a picture' }), 'text.jpg');
    const args = [folder, text, '--wait', '--images-per-job', '3'];
    const { code, stdout } = await jobs(server, 'submit', ...args);
    expect(code).toBe(1);
    const outcome = linesOf<ResultLine>(stdout).map(({ file, state, problem }) => {
      return [file.replace(/.*\//, ''), state, problem?.code];
    });
    expect(outcome.sort()).toEqual([
      ['20.png', 'completed', undefined],
      ['21.png', 'completed', undefined],
      ['22.png', 'completed', 'model_failed'],
      ['23.png', 'completed', undefined],
      ['24.png', 'completed', undefined],

      ['text.jpg', 'refused', 'unsupported_image_format'],
    ]);
  });

  it('sends pictures singly where the server takes fewer at a time', async () => {
    const folder = await picturesOf([30, 31, 32, 33, 34]);
    const { code, stdout } = await jobs(server, 'submit', folder, '--images-per-job', '5');
    expect(code).toBe(0);
    expect(new Set(linesOf<ResultLine>(stdout).map(({ job }) => job)).size).toBe(5);
  });

  it('waits for one job, and shows it', async () => {
    const folder = await picturesOf([40]);
    const sent = await jobs(server, 'submit', folder, '--threshold', '0.25', '--priority', 'low');
    const [line] = linesOf<ResultLine>(sent.stdout);
    const { code, stdout } = await jobs(server, 'wait', String(line?.job));
    expect(code).toBe(0);
    expect(stdout).toContain(`${String(line?.job)}  completed\n`);
    expect(stdout).toContain('threshold 0.25, priority low\n');
    expect(stdout).toContain('thing  1.00  [40, 20, 200, 255]\n');
  });

  it('reports a file that the server does not even read, and goes on', async () => {
    const folder = folderOf({
      'a.jpg': Buffer.alloc(80 * 1024 * 1024),
      'b.png': await solidPng([50, 20, 200]),
    });
    const { code, stdout } = await jobs(server, 'submit', folder, '--wait');
    expect(code).toBe(1);
    const byName = new Map(linesOf<ResultLine>(stdout).map((line) => [line.file.slice(-5), line]));
    expect(byName.get('a.jpg')).toMatchObject({ job: null, state: 'refused' });
    expect(['connection_closed', 'body_too_large']).toContain(byName.get('a.jpg')?.problem?.code);
    expect(byName.get('b.png')).toMatchObject({ state: 'completed' });
  });

  it('submits once, cancels, queues again and removes', async () => {
    const folder = await picturesOf([60, 61, 62]);
    const submit = () => jobs(idle, 'submit', folder, '--resume-key', 'again');
    const ids = new Set(linesOf<ResultLine>((await submit()).stdout).map(({ job }) => job));
    const second = linesOf<ResultLine>((await submit()).stdout).map(({ job }) => job);
    expect(new Set(second)).toEqual(ids);
    expect(await listed(idle)).toHaveLength(3);

    const [first = ''] = ids;
    const cancelled = await jobs(idle, 'cancel', String(first));
    expect(cancelled.stdout).toBe(`${String(first)}  cancelled\n`);
    expect(await listed(idle, '--state', 'queued')).toHaveLength(2);
    expect((await jobs(idle, 'retry', String(first))).stdout).toBe(`${String(first)}  queued\n`);
    await jobs(idle, 'cancel', '--state', 'queued');
    const table = (await jobs(idle, 'list')).stdout;
    expect(table).toMatch(/^id +state +model +images +age +ran\n/);
    expect(table.match(/cancelled {2}one +0\/1/g)).toHaveLength(3);
    await jobs(idle, 'retry', '--state', 'cancelled');
    expect(await listed(idle, '--state', 'queued')).toHaveLength(3);
    expect((await jobs(idle, 'purge', '--yes')).stdout).toBe('0 jobs removed\n');
    await jobs(idle, 'cancel', ...[...ids].map(String));
    const purged = await jobs(idle, 'purge', '--state', 'cancelled', '--yes');
    expect(purged.stdout).toBe('3 jobs removed\n');
    expect((await jobs(idle, 'list')).stderr).toBe('There are no such jobs.\n');
  });

  it.each([
    [['list', '--api-key', 'some-other-key'], /^shoal: .* \(unauthorized\); give a key/],
    [['submit', 'examples', '--model', 'three', ...KEY], /\(model_not_found\)\n$/],
    [
      ['submit', 'examples', '--webhook-url', 'http://127.0.0.1/', ...KEY],
      /\(webhook_refused\)\n$/,
    ],
  ])('says in one line what is wrong with %j', async ([name = '', ...args], message) => {
    const { code, stdout, stderr } = await runToEnd(['jobs', name, '--url', server.url, ...args]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('shoal jobs submit --wait', () => {
  it('outlives the server that it talks to', async () => {
    const data = { SHOAL_DATA_DIR: folderOf({}) };
    const models = stubModels({ one: {} });
    const first = await TestServer.start([models, '--no-worker'], data);
    const folder = await picturesOf([1, 2, 3, 4, 5, 6]);
    const child = runCli(['jobs', 'submit', folder, '--wait', '--url', first.url]);
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const closed = once(child, 'close');
    await until(async () => (await first.json<{ jobs: unknown[] }>('/jobs')).jobs.length === 6);
    await first.stop();
    // Nothing listens until it has been noticed.
    await until(() => stderr.includes('next try in'));
    const second = await TestServer.start([models, '--port', String(first.port)], data);
    expect((await closed)[0], stderr).toBe(0);
    await second.stop();
    const lines = linesOf<ResultLine>(stdout);
    expect(new Set(lines.map(({ file }) => file)).size).toBe(6);
    expect(lines.map(({ state }) => state)).toEqual(Array(6).fill('completed'));
  });
});

describe('shoal jobs as a process', () => {
  let server: JobsServer;
  beforeAll(async () => {
    server = await JobsServer.start();
  });
  afterAll(() => server.close());

  it('ends on Ctrl-C, with what was written so far', async () => {
    const folder = folderOf({ 'a.jpg': 'cat', 'b.jpg': 'slow' });
    const child = runCli(['jobs', 'submit', folder, '--wait', '--url', server.url]);
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const closed = once(child, 'close');
    const isAsked = () =>
      server.views().some(({ id, state }) => {
        return state === 'queued' && server.requestsOf(`GET /jobs/${id}`).length > 0;
      });
    await until(() => stdout.endsWith('\n') && isAsked());
    child.kill('SIGINT');
    expect((await closed)[0]).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'completed' });
    expect(stderr).toContain('2 of 2 images had been submitted; 1 of them have not ended');
  });

  it('ends quietly when its reader does', async () => {
    for (let at = 0; at < 3000; at++) server.add(['x'], 'expired');
    const args = ['jobs', 'list', '--all', '--state', 'expired', '--url', server.url];
    const child = runCli(args);
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const closed = once(child, 'close');
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await closed).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  it.each([
    [['lits'], 2, 'did you mean list?'],
    [['list', '--stat', 'x'], 2, 'did you mean --state?'],
    [['purge'], 2, 'say --yes'],
    [['show', 'job_AAAAAAAAAAAAAAAAAAAAAAAA'], 1, 'There is no such job (job_not_found)'],
  ])('%j is answered with %i in one line', async ([name = '', ...rest], code, message) => {
    const result = await runToEnd(['jobs', name, '--url', server.url, ...rest]);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(/^shoal: [^\n]+\n$/);
    expect(result.stderr).toContain(message);
  });
});
