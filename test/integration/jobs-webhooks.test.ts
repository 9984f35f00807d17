import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JobsClient } from '../helpers/jobs-client.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

const KEY = Buffer.alloc(24, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;

describe('webhooks', () => {
  let receiver: Server;
  let received: { headers: IncomingHttpHeaders; body: string }[];
  /** What the receiver answers, one after the other; the last one stays. */
  let statuses: number[];
  let url: string;
  let server: TestServer | undefined;

  beforeEach(async () => {
    received = [];
    statuses = [200];
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
        const status = statuses.length > 1 ? statuses.shift() : statuses[0];
        response.writeHead(status ?? 200, { 'retry-after': '1' }).end('nobody may see this');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}/hook?token=hidden`;
  });
  afterEach(async () => {
    await server?.stop();
    receiver.close();
  });

  const start = async (environment: Record<string, string> = {}): Promise<JobsClient> => {
    server = await TestServer.start([stubModels({ one: {} })], {
      SHOAL_WEBHOOK_SECRETS: SECRET,
      SHOAL_WEBHOOK_ALLOW: '127.0.0.1',
      ...environment,
    });
    return new JobsClient(server);
  };

  it('tell how a job has ended, signed', async () => {
    const jobs = await start();
    const { id } = await jobs.submit([GREEN], { webhook_url: url });
    await until(async () => (await jobs.get(id)).webhook?.state === 'delivered');
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    const message = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.');
    const signature = createHmac('sha256', KEY).update(message).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    const { webhook, ...job } = await jobs.get(id);
    expect(webhook).toEqual({ state: 'delivered', attempts: 1 });
    expect(JSON.parse(body)).toEqual({
      type: 'job.completed',
      timestamp: job.finished_at,
      data: job,
    });
    expect(await server?.metric('shoal_webhook_deliveries_total{outcome="delivered"}')).toBe(1);
  });

  it('are tried again, with the same id and body, and say nothing of the receiver', async () => {
    statuses = [503, 200];
    const jobs = await start();
    const { id } = await jobs.submit([GREEN], { webhook_url: url });
    await until(async () => (await jobs.get(id)).webhook?.attempts === 1);
    expect(await jobs.get(id)).toMatchObject({
      state: 'completed',
      webhook: { state: 'pending', reason: 'status_503' },
    });
    await until(async () => (await jobs.get(id)).webhook?.state === 'delivered');
    const [first, second] = received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    const shown = JSON.stringify([await jobs.get(id), server?.lines]);
    expect(shown).not.toContain('nobody may see this');
    expect(shown).not.toContain('hidden');
  });

  it('outlive the server that owes them', async () => {
    statuses = [503];
    const folder = join(tmpdir(), `shoal-data-${randomUUID()}`);
    const before = await start({ SHOAL_DATA_DIR: folder });
    const { id } = await before.submit([GREEN], { webhook_url: url });
    await until(async () => (await before.get(id)).webhook?.attempts === 1);
    await server?.stop();
    statuses = [200];
    const after = await start({ SHOAL_DATA_DIR: folder });
    await until(async () => (await after.get(id)).webhook?.state === 'delivered');
    expect(received.length).toBeGreaterThan(1);
  });

  it('go to nobody inside, unless that was allowed', async () => {
    const jobs = await start({ SHOAL_WEBHOOK_ALLOW: '10.1.2.3' });
    const image_b64 = (await solidPng(GREEN)).toString('base64');
    for (const target of [
      url,
      url.replace('127.0.0.1', '127.1'),
      url.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
      url.replace('127.0.0.1', 'localhost'),
      'http://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
      'nonsense',
    ]) {
      const response = await jobs.post(
        JSON.stringify({ image_b64, webhook_url: target }),
        'application/json',
      );
      expect(await response.json(), target).toMatchObject({ status: 422, code: 'webhook_refused' });
    }
    expect(received).toEqual([]);
  });
});
