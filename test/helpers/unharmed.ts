import { expect } from 'vitest';
import { GREEN, RED, solidPng } from './pictures.js';
import type { TestServer } from './server.js';

/** Whatever was sent before, the server goes on as if nothing had been. */
export async function expectUnharmed(server: TestServer): Promise<void> {
  const response = await server.post('/predict', await solidPng(RED));
  expect(await response.json()).toMatchObject({ detections: [{ bbox: [255, 0, 0, 255] }] });
  const { status, models } = await server.json<{
    status: string;
    models: { in_flight: number; queue_depth: number; engine: { restarts: number } }[];
  }>('/health');
  expect(status).toBe('ok');
  for (const model of models) {
    expect(model).toMatchObject({ in_flight: 0, queue_depth: 0, engine: { restarts: 0 } });
  }
  await expect.poll(() => server.metric('shoal_request_bytes')).toBe(0);
}

/** A red picture among green ones, all at once: it alone may fail. */
export async function expectOnlyRedToFail(server: TestServer, greens: number): Promise<void> {
  const [red, green] = [await solidPng(RED), await solidPng(GREEN)];
  const images = [red, ...Array.from({ length: greens }, () => green)];
  const answers = await Promise.all(images.map((image) => server.post('/predict', image)));
  expect(answers.map(({ status }) => status)).toEqual([422, ...images.slice(1).map(() => 200)]);
}
