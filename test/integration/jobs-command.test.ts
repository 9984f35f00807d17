import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf } from '../helpers/jobs-run.js';
import { JobsServer } from '../helpers/jobs-server.js';
import { runCli, runToEnd, until } from '../helpers/server.js';

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
