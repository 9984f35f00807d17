import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { choose, type ChoiceHost } from '../../src/devices/choice.js';
import {
  cpuVariant,
  DeviceError,
  describeVariant,
  type Variant,
} from '../../src/devices/variant.js';

const CPU = cpuVariant({ precision: 'auto' });
const variant = (name: 'cuda' | 'webgpu' | 'dml', precision: Variant['precision'] = 'fp32') =>
  ({ devices: [{ name, index: 0 }], precision }) satisfies Variant;
const [CUDA, HALF, WEBGPU] = [variant('cuda'), variant('cuda', 'fp16'), variant('webgpu')];

interface Facts {
  readonly rates: Readonly<Record<string, number>>;
  readonly known?: readonly string[];
  readonly broken?: readonly string[];
  readonly isUnmeasured?: boolean;
}

/** A machine on which these are the facts, and what was done to find them out. */
function hostWith({ rates, known = [], broken = [], isUnmeasured = false }: Facts) {
  const done: string[] = [];
  const rateOf = (one: Variant): number => rates[describeVariant(one)] ?? 0;
  const host: ChoiceHost = {
    isUnmeasured,
    prove: (one) => {
      done.push(`prove ${describeVariant(one)}`);
      return broken.includes(describeVariant(one))
        ? Promise.reject(new Error('it is broken'))
        : Promise.resolve(one);
    },
    recall: (one) =>
      Promise.resolve(known.includes(describeVariant(one)) ? rateOf(one) : undefined),
    measure: (one) => {
      done.push(`measure ${describeVariant(one)}`);
      return Promise.resolve(rateOf(one));
    },
    onRefused: (one, reason) => done.push(`${describeVariant(one)}: ${reason}`),
  };
  return { host, done };
}

describe('choose', () => {
  it('proves, then measures, then takes the fastest', async () => {
    const { host, done } = hostWith({ rates: { 'cuda:0': 100, 'webgpu:0': 300, cpu: 50 } });
    const { variant: chosen, rated } = await choose([CUDA, WEBGPU], CPU, host);
    expect(chosen).toBe(WEBGPU);
    expect(rated.map(({ rate }) => rate)).toEqual([300, 100, 50]);
    expect(done).toEqual([
      'prove cuda:0',
      'measure cuda:0',
      'prove webgpu:0',
      'measure webgpu:0',
      'measure cpu',
    ]);
  });

  it('proves only what it takes when all were measured before', async () => {
    const rates = { 'cuda:0': 400, 'webgpu:0': 300, cpu: 50 };
    const known = Object.keys(rates);
    const works = hostWith({ rates, known });
    expect((await choose([CUDA, WEBGPU], CPU, works.host)).variant).toBe(CUDA);
    expect(works.done).toEqual(['prove cuda:0']);

    const breaks = hostWith({ rates, known, broken: ['cuda:0'] });
    expect((await choose([CUDA, WEBGPU], CPU, breaks.host)).variant).toBe(WEBGPU);
    expect(breaks.done).toEqual(['prove cuda:0', 'cuda:0: it is broken', 'prove webgpu:0']);
  });

  it('takes what comes first when two are about as fast', async () => {
    const { host } = hostWith({ rates: { 'cuda:0': 100, 'cuda:0 fp16': 101, cpu: 9 } });
    expect((await choose([CUDA, HALF], CPU, host)).variant).toBe(CUDA);
    const faster = hostWith({ rates: { 'cuda:0': 100, 'cuda:0 fp16': 110, cpu: 9 } });
    expect((await choose([CUDA, HALF], CPU, faster.host)).variant).toBe(HALF);
  });

  it('measures nothing when nothing is to be measured', async () => {
    const { host, done } = hostWith({ rates: {}, isUnmeasured: true, broken: ['cuda:0'] });
    expect((await choose([CUDA, WEBGPU], CPU, host)).variant).toBe(WEBGPU);
    expect(done).toEqual(['prove cuda:0', 'cuda:0: it is broken', 'prove webgpu:0']);
  });

  it('does not measure the CPU when there is nothing to compare it with', async () => {
    const { host, done } = hostWith({ rates: {}, broken: ['cuda:0'] });
    expect((await choose([CUDA], CPU, host)).variant).toBe(CPU);
    expect(done).toEqual(['prove cuda:0', 'cuda:0: it is broken']);
  });

  it('fails with the first reason when nothing works and the CPU is not wanted', async () => {
    const { host } = hostWith({ rates: {}, broken: ['cuda:0', 'cuda:0 fp16'] });
    await expect(choose([CUDA, HALF], undefined, host)).rejects.toThrow(
      new DeviceError('cuda', 'it is broken'),
    );
  });

  it('never takes what is broken, nor what is clearly slower than something that works', async () => {
    const names = ['cuda:0', 'webgpu:0', 'dml:0', 'cpu'];
    const facts = fc.record({
      rates: fc.tuple(...names.map(() => fc.integer({ min: 1, max: 500 }))),
      known: fc.subarray(names),
      broken: fc.subarray(names.slice(0, 3)),
    });
    await fc.assert(
      fc.asyncProperty(facts, async ({ rates, known, broken }) => {
        const byName = Object.fromEntries(names.map((name, at) => [name, rates[at] as number]));
        const { host, done } = hostWith({ rates: byName, known, broken });
        const all = [CUDA, WEBGPU, variant('dml')];
        const chosen = describeVariant((await choose(all, CPU, host)).variant);
        expect(broken).not.toContain(chosen);
        const best = Math.max(
          ...names.filter((name) => !broken.includes(name)).map((name) => byName[name] as number),
        );
        expect(byName[chosen]).toBeGreaterThanOrEqual(best * 0.98);
        expect(new Set(done).size).toBe(done.length);
        if (chosen !== 'cpu') expect(done).toContain(`prove ${chosen}`);
      }),
    );
  });
});
