import { describe, expect, it } from 'vitest';
import { Metrics } from '../../src/telemetry/metrics.js';

describe('metrics of several processes', () => {
  const valueOf = (text: string, series: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    );

  it('are one: counters, histograms and memory add up, the slowest event loop counts', async () => {
    const [server, front] = [new Metrics(), new Metrics()];
    for (const [metrics, times] of [
      [server, 2],
      [front, 3],
    ] as const) {
      const labels = { model: 'm' };
      metrics.count('inference_requests_total', { ...labels, outcome: 'ok' }, times);
      for (let turn = 0; turn < times; turn++) {
        metrics.observe('inference_latency_seconds', labels, 0.02);
      }
      metrics.set('shoal_process_memory_bytes', {}, times * 100);
      metrics.set('shoal_event_loop_delay_seconds', { quantile: '0.99' }, times);
    }
    server.set('shoal_queue_depth', { model: 'm' }, 4);
    server.onGather(async () => [JSON.parse(JSON.stringify(await front.read())) as object[]]);
    const text = await server.render();
    expect(valueOf(text, 'inference_requests_total{model="m",outcome="ok"}')).toBe(5);
    expect(valueOf(text, 'inference_latency_seconds_count{model="m"}')).toBe(5);
    expect(valueOf(text, 'inference_latency_seconds_bucket{le="0.025",model="m"}')).toBe(5);
    expect(valueOf(text, 'inference_latency_seconds_bucket{le="0.01",model="m"}')).toBe(0);
    expect(valueOf(text, 'shoal_process_memory_bytes')).toBe(500);
    expect(valueOf(text, 'shoal_event_loop_delay_seconds{quantile="0.99"}')).toBe(3);
    expect(valueOf(text, 'shoal_queue_depth{model="m"}')).toBe(4);
    expect(valueOf(text, 'shoal_draining')).toBe(0);
  });

  it('are those of this process when there is no other', async () => {
    const metrics = new Metrics();
    metrics.onGather(() => Promise.resolve([]));
    metrics.count('shoal_jobs_submitted_total', { model: 'm' });
    expect(valueOf(await metrics.render(), 'shoal_jobs_submitted_total{model="m"}')).toBe(1);
  });
});
