import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '../../src/heads/detection.js';
import { TestServer } from '../helpers/server.js';

const coffee = readFileSync('examples/coffee.jpg');
interface Answer {
  detections: Detection[];
  inference_ms: number;
}

describe('predict with the bundled model', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  async function predict(body: Buffer | string, type: string, query = ''): Promise<Answer> {
    const response = await server.post(`/predict${query}`, body, { 'content-type': type });
    expect(response.status, await response.clone().text()).toBe(200);
    return (await response.json()) as Answer;
  }

  it('finds the cup, in each form of the request', async () => {
    const form = new FormData();
    form.set('image', new Blob([new Uint8Array(coffee)]), 'x.jpg');
    const answers = [
      await predict(JSON.stringify({ image_b64: coffee.toString('base64') }), 'application/json'),
      await predict(coffee, 'image/jpeg'),
      await predict(coffee, 'application/octet-stream'),
      (await (
        await fetch(`${server.url}/predict`, { method: 'POST', body: form })
      ).json()) as Answer,
    ];
    for (const { detections, inference_ms } of answers) {
      expect(inference_ms).toBeGreaterThan(0);
      expect(detections[0]).toMatchObject({ label: 'cup' });
      expect(detections).toEqual(answers[0]?.detections);
      const scores = detections.map(({ confidence }) => confidence);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    }
  });

  it('takes a data: URL and PHP-style escaped slashes', async () => {
    const base64 = coffee.toString('base64');
    const asUrl = JSON.stringify({ image_b64: `data:image/jpeg;base64,${base64}` });
    const escaped = `{"image_b64":"${base64.replaceAll('/', '\\/')}"}`;
    for (const body of [asUrl, escaped]) {
      expect((await predict(body, 'application/json')).detections[0]?.label).toBe('cup');
    }
  });

  it('respects the threshold, wherever it is given', async () => {
    const all = await predict(coffee, 'image/jpeg', '?confidence_threshold=0.05');
    const few = await predict(coffee, 'image/jpeg', '?confidence_threshold=0.9');
    expect(all.detections.length).toBeGreaterThan(few.detections.length);
    expect(few.detections.every(({ confidence }) => confidence >= 0.9)).toBe(true);
  });

  it('finds the same in a photo and in the same one as 12 megapixels', async () => {
    for (const file of ['coffee.jpg', 'cat.jpg']) {
      const photo = sharp(`examples/${file}`);
      const { width, height } = await photo.metadata();
      const scale = 4032 / width;
      const size = [4032, Math.round(height * scale)] as const;
      const large = await photo
        .clone()
        .resize(...size, { kernel: 'cubic' })
        .jpeg({ quality: 90 })
        .toBuffer();
      const [a] = (await predict(readFileSync(`examples/${file}`), 'image/jpeg')).detections;
      const [b] = (await predict(large, 'image/jpeg')).detections;
      expect(b?.label).toBe(a?.label);
      expect(Math.abs((b?.confidence ?? 0) - (a?.confidence ?? 0))).toBeLessThan(0.1);
      b?.bbox.forEach((value, at) => {
        expect(Math.abs(value / scale - (a?.bbox[at] ?? 0))).toBeLessThan(width / 40);
      });
    }
  });

  it('gives boxes in the picture as a person sees it', async () => {
    // Stored lying on its side, with a note to turn it.
    const lying = await sharp(coffee)
      .rotate(270)
      .withMetadata({ orientation: 6 })
      .jpeg({ quality: 95 })
      .toBuffer();
    const [upright, turned] = [
      await predict(coffee, 'image/jpeg'),
      await predict(lying, 'image/jpeg'),
    ];
    const [a, b] = [upright.detections[0], turned.detections[0]];
    expect(b?.label).toBe(a?.label);
    b?.bbox.forEach((value, at) => {
      expect(Math.abs(value - (a?.bbox[at] ?? 0))).toBeLessThan(12);
    });
  });

  it('answers with request id, stages and batch size', async () => {
    const headers = { 'content-type': 'image/jpeg', 'x-request-id': 'my-id.1' };
    const response = await server.post('/predict', coffee, headers);
    expect(response.headers.get('x-request-id')).toBe('my-id.1');
    const timing = response.headers.get('server-timing') ?? '';
    for (const stage of ['receive', 'admit', 'decode', 'queue', 'infer', 'post', 'total']) {
      expect(timing).toMatch(new RegExp(`${stage};dur=\\d`));
    }
    expect(timing).toContain('batch;desc="1"');
    const odd = { ...headers, 'x-request-id': 'a"b\u00e9{}' };
    expect((await server.post('/predict', coffee, odd)).headers.get('x-request-id')).toMatch(
      /^[\w-]{36}$/,
    );
  });

  it('describes itself: models, health, metrics, OpenAPI and the docs page', async () => {
    const { models } = await server.json<{ models: Record<string, unknown>[] }>('/models');
    expect(models[0]).toMatchObject({
      name: 'ssdlite-mobilenet-v2',
      status: 'ready',
      provider: 'cpu',
    });
    expect(await server.json('/models/ssdlite-mobilenet-v2')).toEqual(models[0]);
    expect(await server.json('/health')).toMatchObject({
      status: 'ok',
      models: [{ queue_depth: 0 }],
    });

    const openapi = await server.json<{
      paths: Record<
        string,
        Record<string, { operationId: string; requestBody?: { content: object } }>
      >;
    }>('/openapi.json');
    expect(Object.keys(openapi.paths).sort()).toEqual([
      '/health',
      '/jobs',
      '/jobs/{id}',
      '/jobs/{id}/events',
      '/jobs/{id}/retry',
      '/livez',
      '/metrics',
      '/models',
      '/models/{name}',
      '/models/{name}/predict',
      '/predict',
      '/readyz',
    ]);
    const content = Object.keys(openapi.paths['/predict']?.['post']?.requestBody?.content ?? {});
    expect(content).toEqual(
      expect.arrayContaining(['application/json', 'multipart/form-data', 'image/jpeg']),
    );
    const ids = Object.values(openapi.paths)
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    expect(ids.filter((id) => !/^[a-z]+[A-Za-z]*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(JSON.stringify(openapi)).not.toContain('Default Response');
    const page = await fetch(`${server.url}/docs`);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
  });

  it('counts what it did under the promised names', async () => {
    const labels = '{model="ssdlite-mobilenet-v2"';
    expect(await server.metric(`inference_requests_total${labels},outcome="ok"}`)).toBeGreaterThan(
      5,
    );
    expect(
      await server.metric(
        `inference_latency_seconds_bucket{le="0.005",model="ssdlite-mobilenet-v2"}`,
      ),
    ).toBeGreaterThanOrEqual(0);
    expect(
      await server.metric(`inference_batch_size_bucket{le="32",model="ssdlite-mobilenet-v2"}`),
    ).toBeGreaterThan(5);
    expect(
      await server.metric('shoal_event_loop_delay_seconds{quantile="0.99"}'),
    ).toBeGreaterThanOrEqual(0);
  });

  it('writes one line per request, without payloads', async () => {
    const { length } = server.lines;
    await server.post('/predict', coffee, {
      'content-type': 'image/jpeg',
      'x-request-id': 'logged',
    });
    await expect
      .poll(() => server.lines.slice(length).find((line) => line['request_id'] === 'logged'))
      .toMatchObject({
        method: 'POST',
        route: '/predict',
        status: 200,
        outcome: 'ok',
        batch_size: 1,
        model: 'ssdlite-mobilenet-v2',
      });
    expect(JSON.stringify(server.lines)).not.toContain(coffee.toString('base64').slice(0, 100));
  });
});
