import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadResult } from '../../src/load/load-result.js';
import {
  type LogLine,
  runCli,
  runToEnd,
  stubModels,
  TestServer,
  until,
} from '../helpers/server.js';

interface BenchJson {
  readonly url: string;
  readonly endedEarly: boolean;
  readonly capacityPerSecond?: number | null;
  readonly runs: readonly (LoadResult & { readonly rate: number })[];
}

/** Nobody gives up, however slow the machine is. */
const PATIENT = ['--timeout-ms', '120000'];

describe('shoal bench', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 10 }, two: {} })], {
      SHOAL_API_KEYS: 'a-key-for-the-bench',
    });
  });
  afterAll(() => server.stop());

  const bench = (...args: string[]) =>
    runToEnd(['bench', server.url, '--api-key', 'a-key-for-the-bench', ...PATIENT, ...args]);

  function expectConsistent(result: LoadResult): void {
    const sum = (counts: Readonly<Record<string, number>>): number =>
      Object.values(counts).reduce((total, count) => total + count, 0);
    expect(result.offered).toBe(result.sent + result.unsent);
    expect(result.sent).toBe(sum(result.statuses) + result.gaveUp + sum(result.errors));
    expect(result.ok).toBe(result.statuses['200'] ?? 0);
    expect(result.latencyMs?.count ?? 0).toBe(result.ok);
    expect(result.refusalMs?.count ?? 0).toBe(result.refused);
    expect(result.goodput).toBeLessThanOrEqual(
      (result.ok + result.retries.admitted) / result.seconds,
    );
    const perSecond = result.perSecond.reduce((total, { ok }) => total + ok, 0);
    expect(perSecond).toBe(result.ok + result.retries.admitted);
  }

  it('counts every request at every rate, and writes only JSON when asked to', async () => {
    const { code, stdout, stderr } = await bench(
      ...['--rates', '20,60', '--seconds', '1', '--retry-share', '0.5', '--json', '-'],
    );
    expect(code, stderr).toBe(0);
    const { url, endedEarly, runs } = JSON.parse(stdout) as BenchJson;
    expect([url, endedEarly]).toEqual([`${server.url}/predict`, false]);
    expect(runs.map(({ rate }) => rate)).toEqual([20, 60]);
    for (const run of runs) {
      expectConsistent(run);
      expect(run).toMatchObject({ gaveUp: 0, unsent: 0, errors: {} });
      expect(run.ok).toBeGreaterThan(0);
    }
    expect(stderr).toContain('60.0/s: goodput');
  });

  it('prints a table and a chart, and the same as JSON to a file', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'shoal-bench-')), 'result.json');
    const { code, stdout } = await bench(
      ...['--rate', '20', '--seconds', '0.5', '--arrivals', 'steady'],
      ...['--model', 'two', '--form', 'raw', '--image', 'examples/cat.jpg', '--json', file],
    );
    expect(code).toBe(0);
    expect(stdout).toContain(`${server.url}/models/two/predict: 1 photo as raw bytes`);
    expect(stdout).toMatch(/offered\/s +goodput\/s +200 +429/);
    expect(stdout).toContain('latency of answers');
    const [run] = (JSON.parse(readFileSync(file, 'utf8')) as BenchJson).runs;
    expect(run?.offered).toBe(10);
    expectConsistent(run as LoadResult);
  });

  it('searches the capacity, and says when there is none', async () => {
    // No server answers within a microsecond, so every step is too much.
    const { code, stdout, stderr } = await bench(
      ...['--find-capacity', '--slo-p99-ms', '0.001', '--seconds', '0.2', '--arrivals', 'steady'],
    );
    expect(code).toBe(0);
    expect(stderr.match(/too much/g)).toHaveLength(6);
    expect(stdout).toContain('No rate was found');
    expect(stdout).toMatch(/rate\/s +goodput\/s +p99 ms/);
  });

  const isOfLoad = (line: LogLine): boolean => String(line['request_id']).startsWith('load-');

  it('ends on Ctrl-C with the results so far', async () => {
    const child = runCli(
      ['bench', server.url, '--api-key', 'a-key-for-the-bench', ...PATIENT].concat(
        ...['--rate', '50', '--seconds', '3600', '--json', '-'],
      ),
    );
    let stdout = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const before = server.lines.length;
    await until(() => server.lines.slice(before).filter(isOfLoad).length > 3);
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(130);
    const { endedEarly, runs } = JSON.parse(stdout) as BenchJson;
    expect(endedEarly).toBe(true);
    expect(runs).toHaveLength(1);
    expectConsistent(runs[0] as LoadResult);
    expect(runs[0]?.seconds).toBeLessThan(3600);
  });

  it('explains itself', async () => {
    const { code, stdout } = await runToEnd(['bench', '--help']);
    expect(code).toBe(0);
    for (const flag of ['--rate <', '--find-capacity', '--retry-share', '--json', '--api-key']) {
      expect(stdout).toContain(flag);
    }
    expect((await runToEnd(['--help'])).stdout).toContain('bench [url]');
  });

  it.each([
    ['a wrong key', ['--api-key', 'another-key-of-mine'], /answers 401: .*--api-key/],
    ['an unknown model', ['--model', 'three'], /three\/predict answers 404: /],
    ['what is no image', ['--image', 'package.json'], /answers 415: /],
  ])('says in one line what is wrong with %s', async (_name, args, message) => {
    const { code, stdout, stderr } = await bench(...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('says that there is no server', async () => {
    const gone = await TestServer.start([stubModels({ one: {} })]);
    await gone.stop();
    const { code, stderr } = await runToEnd(['bench', gone.url]);
    expect(code).toBe(1);
    expect(stderr).toBe(`shoal: there is no server at ${gone.url} (ECONNREFUSED)\n`);
  });

  it.each([
    [['--rate', 'fast'], '--rate must be a number'],
    [['--image', '/nowhere.jpg'], 'cannot read the image /nowhere.jpg'],
    [['--json', '/nowhere/x.json'], 'cannot write --json'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await runToEnd(['bench', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
