import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '../../src/heads/detection.js';
import { solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';

const REQUESTS = 5000;
const CLIENTS = 24;

describe('results', () => {
  let server: TestServer;
  beforeAll(async () => {
    // Two models, so that a mix-up between engines would show, too; one of them collects batches.
    const folder = stubModels({ one: {}, two: { sleep_ms: 1 } });
    const config = join(folder, 'shoal.config.yaml');
    writeFileSync(
      config,
      `sessions: 3\nmax_batch: 16\nmax_queue: 1000\nmodels:\n  - path: ${folder}/one\n` +
        `  - path: ${folder}/two\n    batching: fixed\n    window_ms: 5\n`,
    );
    server = await TestServer.start(['--config', config]);
  });
  afterAll(() => server.stop());

  it(`never mix: ${String(REQUESTS)} pictures with an id in their pixels, some cancelled`, async () => {
    let next = 0;
    let answered = 0;
    let left = 0;
    const client = async (): Promise<void> => {
      while (next < REQUESTS) {
        const id = next++;
        const colour = [id & 0xff, (id >> 8) & 0xff, (id * 7) & 0xff] as const;
        const image = await solidPng(colour);
        // Every seventh leaves after a moment that depends on its id.
        const abort = new AbortController();
        if (id % 7 === 0) {
          setTimeout(() => {
            abort.abort();
          }, id % 11);
        }
        const path = id % 2 === 0 ? '/models/one/predict' : '/models/two/predict';
        try {
          // Every third as JSON, whose images lie in buffers that are used again.
          const isJson = id % 3 === 0;
          const body = isJson ? JSON.stringify({ image_b64: image.toString('base64') }) : image;
          const type = { 'content-type': isJson ? 'application/json' : 'image/png' };
          const response = await server.post(path, body, type, abort.signal);
          const { detections } = (await response.json()) as { detections: Detection[] };
          expect(detections[0]?.bbox, `request ${String(id)}`).toEqual([...colour, 255]);
          answered++;
        } catch (error) {
          if (!abort.signal.aborted) throw error;
          left++;
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    expect(answered + left).toBe(REQUESTS);
    expect(answered).toBeGreaterThan(REQUESTS * 0.8);
    expect(left).toBeGreaterThan(0);

    // What ran and what was dropped or left at the door adds up to what was sent.
    const ok = async (model: string): Promise<number> =>
      server.metric(`inference_requests_total{model="${model}",outcome="ok"}`);
    const ran = async (model: string): Promise<number> =>
      server.metric(`inference_batch_size_sum{model="${model}"}`);
    await expect
      .poll(async () => (await ok('one')) + (await ok('two')))
      .toBeGreaterThanOrEqual(answered);
    for (const model of ['one', 'two']) {
      expect(await ran(model)).toBeGreaterThanOrEqual(await ok(model));
      expect(await server.metric(`shoal_in_flight{model="${model}"}`)).toBe(0);
    }
    expect(await server.metric('inference_batch_size_count{model="two"}')).toBeLessThan(
      await ran('two'),
    );
  });
});
