import { describe, expect, it } from 'vitest';
import type { DeviceName } from '../../src/config/devices.js';
import { Recorder } from '../../src/load/recorder.js';
import type { Candidate } from '../../src/tune/candidate.js';
import type { LoadJob } from '../../src/tune/load-generator.js';
import { type TuneProgress, Tuner, type TunerHost } from '../../src/tune/tuner.js';
import { planOf } from '../helpers/findings.js';

interface World {
  /** Images per second of a candidate; what is not a number fails to start. */
  readonly rateOf: (candidate: Candidate) => number;
  readonly p99Of?: (candidate: Candidate) => number;
  readonly onStart?: (candidate: Candidate) => void;
  readonly device?: DeviceName;
}

/** Servers that answer what the world says, and a clock that only loads move. */
class FakeHost implements TunerHost {
  readonly #world: World;
  readonly started: string[] = [];
  readonly jobs: LoadJob[] = [];
  #serving: Candidate | undefined;
  #now = 0;

  constructor(world: World) {
    this.#world = world;
  }

  start(candidate: Candidate, isFinal: boolean): ReturnType<TunerHost['start']> {
    expect(this.#serving, 'one server at a time').toBeUndefined();
    this.#world.onStart?.(candidate);
    this.started.push(`${isFinal ? 'final ' : ''}${candidate.name}`);
    if (Number.isNaN(this.#world.rateOf(candidate))) return Promise.reject(new Error('no memory'));
    this.#serving = candidate;
    const { sessions = 2, threads = 1, max_batch = 2 } = candidate.settings;
    return Promise.resolve({
      url: 'http://nowhere',
      plan: planOf(sessions, threads, max_batch),
      device: this.#world.device ?? 'cpu',
      memoryBytes: () => 1000,
      stop: () => {
        this.#serving = undefined;
        return Promise.resolve();
      },
    });
  }

  load(job: LoadJob): ReturnType<TunerHost['load']> {
    const serving = this.#serving as Candidate;
    this.jobs.push(job);
    this.#now += job.seconds * 1000;
    const rate = this.#world.rateOf(serving);
    const { result } = new Recorder().finish(job.seconds, job.seconds);
    const ms = this.#world.p99Of?.(serving) ?? 10;
    const latencyMs = { count: 1, mean: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms };
    return Promise.resolve({
      ...result,
      ok: rate > 0 ? 1 : 0,
      offered: 1,
      goodput: rate,
      latencyMs,
    });
  }

  now(): number {
    return this.#now;
  }
}

async function tune(world: World, options: Partial<ConstructorParameters<typeof Tuner>[0]> = {}) {
  const host = new FakeHost(world);
  const told: TuneProgress[] = [];
  const tuner = new Tuner(
    {
      cores: 2,
      windows: [],
      largestBatch: 4,
      seconds: 5,
      rounds: 3,
      targetP99Ms: undefined,
      rate: undefined,
      signal: new AbortController().signal,
      onProgress: (progress) => told.push(progress),
      ...options,
    },
    host,
  );
  await tuner.run();
  return { host, told, outcome: tuner.outcome };
}

const byBatch = ({ settings }: Candidate): number => 100 + (settings.max_batch ?? 2);

describe('a search', () => {
  it('tries auto and all candidates, then the best four and auto in turn', async () => {
    const { host, outcome } = await tune({ rateOf: byBatch });
    const searched = ['2 × 1', '1 × 2'].flatMap((split) =>
      [1, 2, 4].map((batch) => `${split}, batch ${String(batch)}`),
    );
    expect(host.started.slice(0, 7)).toEqual(['auto', ...searched]);
    const finals = host.started.slice(7);
    expect(finals).toHaveLength(15);
    const order = finals.slice(0, 5);
    expect(order[0]).toBe('final auto');
    expect(order.slice(1).toSorted()).toEqual(
      ['1 × 2, batch 2', '1 × 2, batch 4', '2 × 1, batch 2', '2 × 1, batch 4'].map(
        (name) => `final ${name}`,
      ),
    );
    expect(finals.slice(5, 10)).toEqual([...order.slice(1), ...order.slice(0, 1)]);
    expect(outcome.failures).toEqual([]);
    expect(outcome.findings.filter(({ isFinalist }) => isFinalist)).toHaveLength(5);
    for (const { visits, isFinalist } of outcome.findings) {
      expect(visits.map(({ round }) => round)).toEqual(isFinalist ? [0, 1, 2, 3] : [0]);
    }
  });

  it('tries sessions and not cores on a GPU, and knows how far it is', async () => {
    const { host, told, outcome } = await tune(
      { rateOf: byBatch, device: 'cuda' },
      { cores: 16, largestBatch: 2, rounds: 1 },
    );
    expect(outcome.device).toBe('cuda');
    expect(host.started.slice(0, 5)).toEqual([
      'auto',
      ...['1 × 1, batch 1', '1 × 1, batch 2', '2 × 1, batch 1', '2 × 1, batch 2'],
    ]);
    expect(told.at(-1)).toMatchObject({ share: 1, leftMs: 0 });
  });

  it('loads with enough clients, and for less time while it searches', async () => {
    const { host } = await tune({ rateOf: byBatch }, { largestBatch: 1, rounds: 1 });
    expect(host.jobs.slice(0, 2)).toMatchObject([
      { kind: 'closed', concurrency: 12, seconds: 1.5 },
      { kind: 'closed', concurrency: 12, seconds: 2 },
    ]);
    expect(host.jobs.at(-1)).toMatchObject({ kind: 'closed', seconds: 5 });
  });

  it('goes on without candidates that do not work, and tries no larger batch there', async () => {
    const { host, outcome } = await tune({
      rateOf: (candidate) =>
        candidate.settings.sessions === 2 && candidate.settings.max_batch === 2
          ? Number.NaN
          : byBatch(candidate),
    });
    expect(outcome.failures).toEqual([{ name: '2 × 1, batch 2', reason: 'no memory' }]);
    expect(host.started).not.toContain('2 × 1, batch 4');
    expect(host.started).toContain('1 × 2, batch 4');
  });

  it('fails where auto does, with what the server said', async () => {
    await expect(tune({ rateOf: () => Number.NaN })).rejects.toThrow('no memory');
    await expect(tune({ rateOf: () => 0 })).rejects.toThrow('no request was answered 200');
  });

  it('tries windows where they are asked for, from two images on', async () => {
    const { host } = await tune({ rateOf: byBatch }, { windows: [0, 5], largestBatch: 2 });
    expect(host.started.filter((name) => name.includes('window 5 ms')).length).toBeGreaterThan(1);
    expect(host.started).not.toContain('2 × 1, batch 1, window 0 ms');
  });

  it('tells how far it is, to the end', async () => {
    const { told } = await tune({ rateOf: byBatch }, { largestBatch: 128 });
    const shares = told.map(({ share }) => share);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares[0]).toBe(0);
    expect(told.at(-1)).toMatchObject({ share: 1, leftMs: 0, stage: 'round 3 of 3' });
  });

  it('ends early on a signal, with what it knows', async () => {
    const stop = new AbortController();
    const { outcome, host } = await tune(
      {
        rateOf: byBatch,
        onStart: ({ name }) => {
          if (name !== '2 × 1, batch 4') return;
          stop.abort();
          throw new Error('killed');
        },
      },
      { signal: stop.signal },
    );
    expect(host.started).toEqual(['auto', '2 × 1, batch 1', '2 × 1, batch 2']);
    expect(outcome.failures).toEqual([]);
    expect(outcome.findings).toHaveLength(3);
  });
});

describe('a search under a target', () => {
  const p99Of = ({ settings }: Candidate): number => 20 * (settings.max_batch ?? 2);

  it('measures at 70 % of what a plan can do, and tells the server the target as well', async () => {
    const { host, outcome } = await tune({ rateOf: byBatch, p99Of }, { targetP99Ms: 50 });
    expect(host.jobs.slice(2, 3)).toMatchObject([{ kind: 'open', seconds: 2 }]);
    const [auto, told] = outcome.findings;
    expect(auto?.rate).toBeCloseTo(0.7 * 102);
    expect(told?.candidate.settings).toEqual({ slo_p99_ms: 50 });
    const finals = host.started.filter((name) => name.startsWith('final '));
    // Those of batch 4 take too long, so slower ones come before them.
    expect(finals.slice(0, 5)).toContain('final 2 × 1, batch 1');
    expect(finals).not.toContain('final 2 × 1, batch 4');
  });

  it('measures at the rate that was asked for', async () => {
    const { host } = await tune({ rateOf: byBatch, p99Of }, { targetP99Ms: 50, rate: 33 });
    const rates = host.jobs.flatMap((job) => (job.kind === 'open' ? job.rate : []));
    expect(new Set(rates)).toEqual(new Set([33]));
  });
});
