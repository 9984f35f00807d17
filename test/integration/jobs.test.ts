import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { JOB_ID } from '../../src/jobs/job.js';
import type { JobView } from '../../src/jobs/job-view.js';
import { boxesOf, JobsClient } from '../helpers/jobs-client.js';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';
import { expectUnharmed } from '../helpers/unharmed.js';

describe('jobs', () => {
  let server: TestServer;
  let jobs: JobsClient;
  beforeAll(async () => {
    server = await TestServer.start([stubModels({ one: {}, slow: { sleep_ms: 400 } })], {
      SHOAL_DEFAULT_MODEL: 'one',
      SHOAL_SESSIONS: '1',
      SHOAL_MAX_BATCH: '1',
      SHOAL_MAX_JOB_IMAGES: '5',
      SHOAL_MAX_JOB_BYTES: '20000',
      SHOAL_MAX_IMAGE_BYTES: '10000',
    });
    jobs = new JobsClient(server);
  });
  afterAll(() => server.stop());

  describe('submission', () => {
    it.each([
      ['the bytes of an image', async () => [await solidPng(GREEN), 'image/png'] as const],
      [
        'JSON',
        async () =>
          [
            JSON.stringify({ image_b64: (await solidPng(GREEN)).toString('base64') }),
            'application/json',
          ] as const,
      ],
      ['a form', async () => [form([await solidPng(GREEN)]), undefined] as const],
    ])('takes %s', async (_name, create) => {
      const [body, type] = await create();
      const response = await jobs.post(body, type);
      const job = (await response.json()) as JobView;
      expect(response.status).toBe(202);
      expect(response.headers.get('location')).toBe(`/jobs/${job.id}`);
      expect(job).toMatchObject({ model: 'one', priority: 'normal', confidence_threshold: 0.5 });
      expect(job.id).toMatch(JOB_ID);
      const ended = await jobs.ended(job.id);
      expect(ended).toMatchObject({ state: 'completed', progress: { done: 1, total: 1 } });
      expect(boxesOf(ended)).toEqual([[0, 255, 0, 255]]);
    });

    it('takes several images, whose results come in their order', async () => {
      const colours = [RED, GREEN, BLUE, GREEN, RED];
      const fromJson = await jobs.submit(colours);
      const images = await Promise.all(colours.map((colour) => solidPng(colour)));
      const fromForm = (await (await jobs.post(form(images))).json()) as JobView;
      for (const { id } of [fromJson, fromForm]) {
        expect(boxesOf(await jobs.ended(id))).toEqual(colours.map((colour) => [...colour, 255]));
      }
    });

    it('takes its settings from the body or the query', async () => {
      const image = await solidPng(GREEN);
      const query = '/jobs?model=slow&priority=high&expires_in=600&confidence_threshold=0.25';
      const fromQuery = (await (await jobs.post(image, 'image/png', query)).json()) as JobView;
      const fields = { model: 'slow', priority: 'high', expires_in: 600 };
      const fromBody = await jobs.submit([GREEN], { ...fields, confidence_threshold: 0.25 });
      const fromForm = (await (
        await jobs.post(form([image], { ...fields, confidence_threshold: '0.25' }))
      ).json()) as JobView;
      for (const job of [fromQuery, fromBody, fromForm]) {
        expect(job).toMatchObject({ model: 'slow', priority: 'high', confidence_threshold: 0.25 });
        const lifeMs = Date.parse(job.expires_at) - Date.parse(job.created_at);
        expect(lifeMs).toBe(600_000);
        await jobs.cancel(job.id);
      }
    });

    it('gives the first job to whoever sends the same again', async () => {
      const send = async (image: Buffer, key: string): Promise<Response> =>
        jobs.post(image, 'image/png', '/jobs', { 'idempotency-key': key });
      const first = await send(await solidPng(RED), 'k1');
      const second = await send(await solidPng(RED), 'k1');
      expect([first.status, second.status]).toEqual([202, 200]);
      expect(((await second.json()) as JobView).id).toBe(((await first.json()) as JobView).id);
      const conflict = await send(await solidPng(BLUE), 'k1');
      expect(await conflict.json()).toMatchObject({ status: 422, code: 'idempotency_conflict' });
      const bad = await send(await solidPng(BLUE), 'with space');
      expect(await bad.json()).toMatchObject({ status: 422, code: 'invalid_request' });
    });

    it.each<[string, string | Buffer, string, Partial<Problem>]>([
      ['no body', '', 'application/json', { status: 400, code: 'empty_body' }],
      ['broken JSON', '{"image_b64": "', 'application/json', { code: 'invalid_json' }],
      ['no image', '{}', 'application/json', { status: 422, code: 'invalid_request' }],
      ['no images', '{"images_b64": []}', 'application/json', { code: 'empty_body' }],
      [
        'both kinds',
        '{"image_b64": "QQ==", "images_b64": ["QQ=="]}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'a number for an image',
        '{"images_b64": [5]}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'an unknown field',
        '{"image_b64": "QQ==", "modle": "x"}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'an unknown model',
        '{"image_b64": "PNG", "model": "x"}',
        'application/json',
        { status: 404, code: 'model_not_found' },
      ],
      [
        'a bad priority',
        '{"image_b64": "PNG", "priority": 1}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'a bad expiry',
        '{"image_b64": "PNG", "expires_in": 0}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'an expiry without end',
        '{"image_b64": "PNG", "expires_in": 1e99}',
        'application/json',
        { code: 'invalid_request' },
      ],
      [
        'a webhook without a secret to sign it',
        '{"image_b64": "PNG", "webhook_url": "https://example.com"}',
        'application/json',
        { code: 'webhook_refused' },
      ],
      [
        'bad base64',
        '{"images_b64": ["PNG", "!!"]}',
        'application/json',
        { status: 400, code: 'invalid_base64' },
      ],
      [
        'no image at all',
        Buffer.from('hello'),
        'image/png',
        { status: 415, code: 'unsupported_image_format' },
      ],
      [
        'a damaged one among good ones',
        '{"images_b64": ["PNG", "QUJD"]}',
        'application/json',
        {
          status: 415,
          detail: 'Image 2: The first bytes match no known format. Send JPEG, PNG or WebP.',
        },
      ],
      [
        'too many',
        `{"images_b64": [${'"PNG",'.repeat(5)}"PNG"]}`,
        'application/json',
        { status: 413, code: 'body_too_large' },
      ],
      [
        'an image that is too large',
        Buffer.alloc(10_001),
        'image/png',
        { status: 413, code: 'body_too_large' },
      ],
      [
        'a type that is no image',
        'x',
        'text/plain',
        { status: 415, code: 'unsupported_content_type' },
      ],
    ])('refuses %s', async (_name, text, type, problem) => {
      const png = (await solidPng(RED)).toString('base64');
      const body = typeof text === 'string' ? text.replaceAll('PNG', png) : text;
      const response = await jobs.post(body, type);
      expect(await response.json()).toMatchObject(problem);
      await expectUnharmed(server);
    });
  });
});

function form(images: readonly Buffer[], fields: Record<string, unknown> = {}): FormData {
  const data = new FormData();
  for (const image of images) data.append('image', new Blob([new Uint8Array(image)]), 'a.png');
  for (const [name, value] of Object.entries(fields)) data.set(name, String(value));
  return data;
}
