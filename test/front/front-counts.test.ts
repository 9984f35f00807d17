import { beforeEach, describe, expect, it } from 'vitest';
import { type Counting, FrontCounts } from '../../src/front/front-counts.js';
import { Metrics, type MetricValues } from '../../src/telemetry/metrics.js';

/** A front that may fall silent. Its values travel as JSON. */
class FakeFront implements Counting {
  readonly metrics = new Metrics();
  isSilent = false;

  async collect(): Promise<MetricValues | undefined> {
    if (this.isSilent) return undefined;
    return JSON.parse(JSON.stringify(await this.metrics.read())) as MetricValues;
  }

  serve(times: number): void {
    this.metrics.count('inference_requests_total', { model: 'm', outcome: 'ok' }, times);
    for (let turn = 0; turn < times; turn++) {
      this.metrics.observe('inference_latency_seconds', { model: 'm' }, 0.02);
    }
    this.metrics.set('shoal_process_memory_bytes', {}, 100);
  }
}

describe('what fronts have counted', () => {
  let counts: FrontCounts;
  let server: Metrics;
  beforeEach(() => {
    counts = new FrontCounts();
    server = new Metrics();
    server.onGather(() => counts.collect());
  });

  async function shown(): Promise<number[]> {
    const text = await server.render();
    return [
      'inference_requests_total{model="m",outcome="ok"}',
      'inference_latency_seconds_count{model="m"}',
      'inference_latency_seconds_bucket{le="0.025",model="m"}',
      'shoal_process_memory_bytes',
    ].map((series) => {
      const line = text.split('\n').find((one) => one.startsWith(`${series} `));
      return Number(line?.split(' ')[1] ?? 0);
    });
  }

  function start(times: number): FakeFront {
    const front = new FakeFront();
    counts.add(front);
    front.serve(times);
    return front;
  }

  it('stays when one does not answer or is gone, but not the memory that it had', async () => {
    const [first, second] = [start(3), start(4)];
    expect(await shown()).toEqual([7, 7, 7, 200]);
    first.isSilent = true;
    second.serve(1);
    expect(await shown()).toEqual([8, 8, 8, 100]);
    first.isSilent = false;
    expect(await shown()).toEqual([8, 8, 8, 200]);
    counts.remove(first);
    expect(await shown()).toEqual([8, 8, 8, 100]);
    counts.remove(second);
    expect(await shown()).toEqual([8, 8, 8, 0]);
  });

  it('grows on with those that come after, however many ended before', async () => {
    for (let turn = 1; turn <= 5; turn++) {
      const front = start(2);
      expect((await shown())[0]).toBe(2 * turn);
      counts.remove(front);
      counts.remove(front);
    }
    expect(await shown()).toEqual([10, 10, 10, 0]);
    expect(await counts.collect()).toHaveLength(1);
  });

  it('lacks what one counted that ended before it was ever asked', async () => {
    counts.remove(start(5));
    expect(await shown()).toEqual([0, 0, 0, 0]);
  });
});
