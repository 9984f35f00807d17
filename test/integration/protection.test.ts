import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RED, solidPng } from '../helpers/pictures.js';
import { batchSizeOf, stubModels, TestServer, until } from '../helpers/server.js';

describe('protection', () => {
  let image: Buffer;
  let server: TestServer;
  beforeAll(async () => {
    image = await solidPng(RED);
  });
  afterEach(() => server.stop());

  const inFlight = async (): Promise<number> =>
    (await server.json<{ models: [{ in_flight: number }] }>('/health')).models[0].in_flight;
  const rejected = (): Promise<number> =>
    server.metric('shoal_rejections_total{model="slow",reason="queue_full"}');

  it('takes what fits, queues what may wait and refuses exactly the rest', async () => {
    server = await TestServer.start([
      stubModels({ slow: { sleep_ms: 500 } }),
      '--sessions',
      '1',
      '--max-batch',
      '1',
      '--max-concurrent',
      '1',
      '--max-queue',
      '8',
    ]);
    const first = server.post('/predict', image);
    await until(async () => (await inFlight()) === 1);
    const answers = await Promise.all([
      first,
      ...Array.from({ length: 20 }, () => server.post('/predict', image)),
    ]);
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(refused).toHaveLength(12);
    for (const answer of refused) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await answer.json()).toMatchObject({ code: 'queue_full' });
    }
    expect(await rejected()).toBe(12);
  });

  it('answers 504 at the deadline and does not compute what is late', async () => {
    server = await TestServer.start([
      stubModels({ slow: { sleep_ms: 1000 } }),
      '--sessions',
      '1',
      '--max-batch',
      '1',
    ]);
    const busy = server.post('/predict', image);
    await until(async () => (await inFlight()) === 1);
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '200' };
    const late = await Promise.all(
      Array.from({ length: 5 }, () => server.post('/predict', image, headers)),
    );
    for (const answer of late) {
      expect(answer.status).toBe(504);
      expect(await answer.json()).toMatchObject({ code: 'deadline_exceeded' });
    }
    expect((await busy).status).toBe(200);
    expect((await server.post('/predict', image)).status).toBe(200);
    // Two batches of one ran: the first request and the last. The five late ones never did.
    expect(await server.metric('inference_batch_size_sum{model="slow"}')).toBe(2);
    const dropped = await Promise.all(
      ['cancelled', 'expired'].flatMap((reason) =>
        ['waiting', 'undecoded', 'decoded'].map((stage) =>
          server.metric(
            `shoal_dropped_items_total{model="slow",reason="${reason}",stage="${stage}"}`,
          ),
        ),
      ),
    );
    expect(dropped.reduce((sum, count) => sum + count)).toBe(5);
    expect(await server.metric('inference_requests_total{model="slow",outcome="deadline"}')).toBe(
      5,
    );
  });

  it('does not compute for clients that have left, wherever they left', async () => {
    server = await TestServer.start([
      stubModels({ slow: { sleep_ms: 400 } }),
      '--sessions',
      '1',
      '--max-batch',
      '1',
      '--max-concurrent',
      '4',
      '--max-queue',
      '100',
    ]);
    const busy = server.post('/predict', image);
    await until(async () => (await inFlight()) === 1);
    const abort = new AbortController();
    const leaving = Array.from({ length: 20 }, () =>
      server
        .post('/predict', image, { 'content-type': 'image/png' }, abort.signal)
        .catch(() => 'left'),
    );
    const halfSent = Array.from({ length: 20 }, () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(
        'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 9999\r\n\r\nabc',
      );
      return socket;
    });
    await until(async () => (await server.metric('shoal_queue_depth{model="slow"}')) === 17);
    abort.abort();
    for (const socket of halfSent) socket.resetAndDestroy();
    expect(await Promise.all(leaving)).toEqual(leaving.map(() => 'left'));
    expect((await busy).status).toBe(200);
    await until(async () => (await inFlight()) === 0);
    expect(await server.metric('inference_batch_size_sum{model="slow"}')).toBe(1);
    expect(await server.metric('shoal_queue_depth{model="slow"}')).toBe(0);
    await expect.poll(() => server.metric('shoal_request_bytes')).toBe(0);
    expect((await server.post('/predict', image)).status).toBe(200);
  });

  it('refuses bodies beyond the bytes it may hold, before it reads them', async () => {
    server = await TestServer.start([
      stubModels({ slow: {} }),
      '--max-image-bytes',
      '1000000',
      '--max-inflight-bytes',
      '2000000',
    ]);
    const hold = (bytes: number): Socket => {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(
        'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 1000000\r\n\r\n',
      );
      socket.write(Buffer.alloc(bytes));
      return socket;
    };
    // Who only announces much keeps nobody out.
    const holders = Array.from({ length: 10 }, () => hold(0));
    expect((await server.post('/predict', image)).status).toBe(200);
    holders.push(hold(999_999), hold(999_999));
    await until(async () => (await server.metric('shoal_request_bytes')) === 1_999_998);
    const refused = await server.post('/predict', image);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'memory_full' });
    for (const socket of holders) socket.destroy();
    await until(async () => (await server.post('/predict', image)).status === 200);
    await expect.poll(() => server.metric('shoal_request_bytes')).toBe(0);
  });

  it('collects a batch for the window when it is fixed', async () => {
    server = await TestServer.start([
      stubModels({ slow: {} }),
      '--sessions',
      '1',
      '--max-batch',
      '8',
      '--batching',
      'fixed',
      '--window-ms',
      '300',
    ]);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.post('/predict', image)),
    );
    expect(answers.map(batchSizeOf)).toEqual(Array.from({ length: 8 }, () => 8));
    expect(await server.metric('inference_batch_size_count{model="slow"}')).toBe(1);
  });
});
