import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CandidateSettings } from '../../src/tune/candidate.js';
import type { Finding } from '../../src/tune/finding.js';
import { childrenOf, isAlive, runCli, runToEnd, stubModels, until } from '../helpers/server.js';
import { expectWellFormed } from '../helpers/xml.js';

interface TuneJson {
  readonly endedEarly: boolean;
  readonly auto: string | null;
  readonly best: string | null;
  readonly autoShare: number | null;
  readonly advice: string;
  readonly config: CandidateSettings;
  readonly candidates: readonly (Omit<Finding, 'candidate'> & {
    readonly name: string;
    readonly settings: CandidateSettings;
  })[];
  readonly failures: readonly unknown[];
}

const MODEL = { one: { sleep_ms: 2, sleep_ms_per_image: 2 } };
/** Every server takes a second to start, so there are few of them. */
const TINY = [
  '--max-batch',
  '1',
  '--seconds',
  '0.3',
  '--rounds',
  '1',
  '--image',
  'examples/cat.jpg',
  '--form',
  'raw',
];

describe('shoal tune', () => {
  it('finds a plan, and says how near the server comes by itself', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-tune-test-'));
    const [json, svg] = [join(folder, 'result.json'), join(folder, 'plot.svg')];
    const { code, stdout, stderr } = await runToEnd(
      ['tune', stubModels(MODEL), ...TINY, '--json', json, '--svg', svg],
      // What is set for servers is not for those that are measured here.
      { SHOAL_MAX_BATCH: '7', SHOAL_API_KEYS: 'a-key-that-nobody-sends' },
    );
    expect(code, stderr).toBe(0);
    const result = JSON.parse(readFileSync(json, 'utf8')) as TuneJson;
    expect([result.endedEarly, result.failures, result.auto]).toEqual([false, [], 'auto']);

    const names = result.candidates.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { settings, plan, visits, isFinalist } of result.candidates) {
      expect(plan).toMatchObject(settings);
      expect(visits.map(({ round }) => round)).toEqual(isFinalist ? [0, 1] : [0]);
      for (const { saturated, paced } of visits) {
        expect(saturated.okShare).toBeGreaterThan(0);
        expect(saturated.p50Ms).toBeLessThanOrEqual(saturated.p99Ms ?? 0);
        expect(paced).toBeNull();
      }
    }
    const of = (name: string | null) => result.candidates.find((one) => one.name === name);
    const [auto, best] = [of('auto'), of(result.best)];
    expect(auto?.settings).toEqual({});
    expect(best?.isFinalist).toBe(true);
    const rivals = result.candidates.filter((one) => one !== auto && one.isFinalist);
    expect(best?.imagesPerSecond).toBe(Math.max(...rivals.map((one) => one.imagesPerSecond)));
    expect(result.autoShare).toBe((auto?.imagesPerSecond ?? 0) / (best?.imagesPerSecond ?? 0));
    for (const key of Object.keys(result.config)) expect(best?.settings).toHaveProperty(key);

    expectWellFormed(readFileSync(svg, 'utf8'));
    expect(stdout).toMatch(/split +max batch +images\/s +of best/);
    expect(stdout).toContain(result.advice);
    expect(stderr.match(/^\d+ %, .* left; /gm)).toHaveLength(
      result.candidates.flatMap(({ visits }) => visits).length,
    );
  });

  it('leaves nothing behind when it is interrupted', async () => {
    const temporary = mkdtempSync(join(tmpdir(), 'shoal-tune-test-'));
    const child = runCli(['tune', stubModels(MODEL), ...TINY, '--seconds', '3600', '--json', '-'], {
      TMPDIR: temporary,
    });
    let stdout = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const servers = (): number[] => childrenOf(child.pid as number);
    // A server and the load generator.
    await until(() => servers().length === 2);
    const pids = servers().flatMap((pid) => [pid, ...childrenOf(pid)]);
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ endedEarly: true, candidates: [], config: {} });
    await until(() => !pids.some(isAlive));
    expect(readdirSync(temporary).filter((name) => name.startsWith('shoal-tune-'))).toEqual([]);
  });

  it('explains itself', async () => {
    const { code, stdout } = await runToEnd(['tune', '--help']);
    expect(code).toBe(0);
    for (const flag of ['--target-p99-ms', '--rounds', '--svg']) expect(stdout).toContain(flag);
    expect((await runToEnd(['--help'])).stdout).toContain('tune [model]');
  });

  it.each([
    ['a number', ['--rounds', 'many'], '--rounds must be a number'],
    ['a file', ['--svg', '/nowhere/x.svg'], 'cannot write --svg'],
    ['a model', ['/nowhere'], 'there is no model at /nowhere'],
    ['one model', [stubModels({ one: {}, two: {} })], 'give the path of one model'],
  ])('says in one line that it needs %s', async (_name, args, message) => {
    const { code, stdout, stderr } = await runToEnd(['tune', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
