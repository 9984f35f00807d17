import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signatureHeaders, writeMessage } from '../../../src/jobs/webhooks/message.js';
import { MAX_ATTEMPTS } from '../../../src/jobs/webhooks/schedule.js';
import { job, SECRETS } from './parcels.js';

type IsGenuine = (headers: Record<string, string>, body: Buffer, secret: string) => boolean;

const page = readFileSync('docs/webhooks.md', 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'shoal-webhooks-'));
let isGenuine: IsGenuine;
beforeAll(async () => {
  const [, example = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  const file = join(folder, 'example.mjs');
  writeFileSync(file, example);
  const module = (await import(pathToFileURL(file).href)) as { isGenuine: IsGenuine };
  ({ isGenuine } = module);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('the example in the documentation', () => {
  const [one, two, other] = SECRETS;
  const message = writeMessage(job());
  const headers = signatureHeaders(message, [one, two], Date.now());

  it('takes what is sent, with either secret', () => {
    expect(isGenuine(headers, message.body, one)).toBe(true);
    expect(isGenuine(headers, message.body, two)).toBe(true);
  });

  it('takes nothing else', () => {
    expect(isGenuine(headers, message.body, other)).toBe(false);
    expect(isGenuine(headers, Buffer.concat([message.body, Buffer.from(' ')]), one)).toBe(false);
    expect(isGenuine({ ...headers, 'webhook-id': 'msg_x' }, message.body, one)).toBe(false);
    expect(isGenuine({ ...headers, 'webhook-signature': 'v1,AAAA' }, message.body, one)).toBe(
      false,
    );
    expect(isGenuine({}, message.body, one)).toBe(false);
  });

  it('takes nothing old', () => {
    const old = signatureHeaders(message, [one], Date.now() - 3_600_000);
    expect(isGenuine(old, message.body, one)).toBe(false);
  });
});

describe('the documentation', () => {
  it('says how often it is tried', () => {
    expect(page).toContain(`After ${String(MAX_ATTEMPTS)} attempts`);
  });
});
