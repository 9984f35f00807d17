import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Refusal } from '../../src/admission/gate.js';
import type { Device } from '../../src/config/devices.js';
import { GpuMonitor } from '../../src/gpu/memory-monitor.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { FakeGpuHost, FakeLog } from '../helpers/fake-gpu-sources.js';
import { gpuLine } from '../helpers/fake-gpu-tool.js';

const cuda = (index: number): Device => ({ name: 'cuda', index });
const CPU: Device = { name: 'cpu', index: 0 };

class FakeGate {
  refusal: Refusal | undefined;
  close(refusal: Refusal | undefined): void {
    this.refusal = refusal;
  }
}

class FakeEngine {
  readonly seats = [{ pid: 77 }, { pid: undefined }];
  avoided: readonly number[] = [];
  avoid(seats: readonly number[]): void {
    this.avoided = seats;
  }
}

describe('GpuMonitor', () => {
  let host: FakeGpuHost;
  let log: FakeLog;
  let metrics: Metrics;
  let monitor: GpuMonitor;
  let gates: Record<string, FakeGate>;
  let engine: FakeEngine;
  beforeEach(() => {
    vi.useFakeTimers();
    [host, log, metrics, gates] = [new FakeGpuHost(), new FakeLog(), new Metrics(), {}];
  });
  afterEach(() => {
    monitor.stop();
    vi.useRealTimers();
  });
  function start(devices: Record<string, readonly Device[]>, high = 0.95): void {
    monitor = new GpuMonitor(high, { log, metrics }, host);
    const models = Object.entries(devices).map(([name, own]) => ({
      name,
      variant: { devices: own },
      gate: (gates[name] = new FakeGate()),
      engine: (engine = new FakeEngine()),
    }));
    monitor.start(models);
  }
  function pass(seconds: number): void {
    for (let index = 0; index < seconds; index++) {
      host.time += 1000;
      vi.advanceTimersByTime(1000);
    }
  }
  const use = (...used: number[]): void => {
    for (const [index, one] of used.entries()) host.tool().say(gpuLine(index, one));
  };
  const closed = (): string[] =>
    Object.keys(gates).filter((name) => gates[name]?.refusal !== undefined);

  it.each([['cpu'], ['coreml']] as const)('starts nothing for models on %s', (name) => {
    start({ a: [{ name, index: 0 }] });
    pass(10);
    expect([host.started, monitor.gpus, log.lines]).toEqual([[], [], []]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('shows the GPUs that models run on', async () => {
    start({ a: [cuda(1)], b: [cuda(1)], c: [CPU] });
    use(10, 2500);
    expect(monitor.gpus).toMatchObject([
      { index: 1, models: ['a', 'b'], isStale: false, isHigh: false },
    ]);
    const text = await metrics.render();
    expect(text).toContain('shoal_gpu_memory_used_bytes{gpu="1"} 2621440000');
    expect(text).toContain('shoal_gpu_utilization_ratio{gpu="1"} 0.07');
    expect(text).not.toContain('{gpu="0"}');
  });

  it('closes the gates of the models on a full GPU, and opens them when there is room', () => {
    start({ a: [cuda(0)], b: [cuda(1)], c: [CPU] });
    use(9501, 100);
    expect(closed()).toEqual(['a']);
    expect(gates['a']?.refusal).toMatchObject({ code: 'gpu_memory_high', retryAfterSeconds: 5 });
    expect(monitor.trouble).toContain('GPU 0');
    use(9300, 100);
    expect(closed()).toEqual(['a']);
    use(9299, 100);
    expect([closed(), monitor.trouble]).toEqual([[], undefined]);
    expect(log.messages).toEqual([
      'warn: GPU memory is almost full, no work is taken',
      'info: GPU memory is free again, work is taken',
    ]);
  });

  it('leaves a model open that has another GPU left, but says which is full', () => {
    start({ a: [cuda(0), cuda(1)] });
    use(9900, 100);
    expect([closed(), engine.avoided]).toEqual([[], [0]]);
    expect([monitor.isHigh(cuda(0)), monitor.isHigh(cuda(1))]).toEqual([true, false]);
    use(9900, 9900);
    expect(closed()).toEqual(['a']);
    use(100, 9900);
    expect([closed(), engine.avoided]).toEqual([[], [1]]);
  });

  it('never closes anything when it is switched off', () => {
    start({ a: [cuda(0)] }, 1);
    use(10_000);
    expect(closed()).toEqual([]);
  });

  it('believes no old readings: it opens, says so and shows no numbers', async () => {
    start({ a: [cuda(0)] });
    use(9900);
    pass(5);
    expect(closed()).toEqual(['a']);
    pass(1);
    expect(closed()).toEqual([]);
    expect(monitor.gpus).toMatchObject([{ isStale: true, isHigh: false }]);
    const text = await metrics.render();
    expect(text).toContain('shoal_gpu_memory_known{gpu="0"} 0');
    expect(text).not.toContain('shoal_gpu_memory_used_bytes{');
    use(9900);
    expect(closed()).toEqual(['a']);
    pass(1);
    expect(log.messages.slice(1)).toEqual([
      'warn: GPU memory was almost full and is not known any more, work is taken again',
      'warn: GPU memory is not known and not watched: nvidia-smi does not answer',
      'warn: GPU memory is almost full, no work is taken',
      'info: GPU memory is known again',
    ]);
  });

  it('tells once what the tool says instead of numbers', () => {
    start({ a: [cuda(0)] });
    for (let index = 0; index < 20; index++) {
      host.tool().say('Unable to determine the device handle for GPU0: Unknown Error');
      pass(1);
    }
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]?.fields).toMatchObject({
      gpus: [0],
      nvidia_smi: 'Unable to determine the device handle for GPU0: Unknown Error',
    });
    expect(monitor.gpus).toMatchObject([{ index: 0, reading: undefined, isStale: true }]);
  });

  it('says that there is no tool', () => {
    host.hasNvidiaTool = false;
    start({ a: [cuda(0)] });
    pass(20);
    expect(log.messages).toEqual([
      'warn: GPU memory is not known and not watched: there is no nvidia-smi on the PATH',
    ]);
  });

  it('reads AMD cards, too', async () => {
    host.hasNvidiaTool = false;
    const reading = { vendor: 'amd', index: 0, uuid: '', name: 'AMD', totalBytes: 100 } as const;
    host.amd = [{ ...reading, usedBytes: 99 }];
    start({ a: [{ name: 'webgpu', index: 0 }] });
    await vi.advanceTimersByTimeAsync(0);
    expect(closed()).toEqual(['a']);
  });

  it('knows what a process holds on all GPUs, for a while', () => {
    start({ a: [cuda(0)] });
    const tool = host.tool('compute-apps');
    tool.say('77, GPU-00000000, 100');
    tool.say('77, GPU-00000001, 20');
    tool.say('78, GPU-00000001, [N/A]');
    tool.say('79, GPU-00000000, 5000');
    expect(monitor.memoryOf(77)).toBe(120 * 2 ** 20);
    use(9900);
    expect(monitor.gpus).toMatchObject([{ index: 0, ownBytes: 100 * 2 ** 20 }]);
    expect(log.lines[0]?.fields).toMatchObject({ own_bytes: 100 * 2 ** 20 });
    expect(monitor.memoryOf(78)).toBeUndefined();
    pass(16);
    expect(monitor.memoryOf(77)).toBeUndefined();
  });

  it('ends its tools', () => {
    start({ a: [cuda(0)] });
    monitor.stop();
    expect(host.started.map(({ isStopped }) => isStopped)).toEqual([true, true]);
    pass(60);
    expect(host.started).toHaveLength(2);
  });
});
