import { readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS, type Problem } from '../../src/errors.js';
import { RED, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';
import { expectUnharmed } from '../helpers/unharmed.js';

const coffee = readFileSync('examples/coffee.jpg');

describe('bad input', () => {
  let server: TestServer;
  let good: Buffer;
  beforeAll(async () => {
    good = await solidPng(RED);
    server = await TestServer.start([
      stubModels({ one: {}, two: {} }),
      '--max-image-bytes',
      '3000000',
    ]);
  });
  afterAll(() => server.stop());

  afterEach(() => expectUnharmed(server));

  async function expectProblem(response: Response, status: number, code: string): Promise<Problem> {
    const text = await response.text();
    expect([response.status, text], text).toEqual([
      status,
      expect.stringContaining(`"code":"${code}"`),
    ]);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(text).not.toMatch(/node_modules|\.js:|at \w+ \(|\/tmp\//);
    return JSON.parse(text) as Problem;
  }

  it.each([
    ['GIF', async () => sharp(coffee).gif().toBuffer()],
    ['TIFF', async () => sharp(coffee).resize(50).tiff().toBuffer()],
    ['AVIF', async () => sharp(coffee).resize(50).avif().toBuffer()],
    ['SVG', async () => Promise.resolve(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
    ['PDF', async () => Promise.resolve(Buffer.from('%PDF-1.7'))],
  ])('%s posing as JPEG is 415', async (_name, make) => {
    const response = await server.post('/predict', await make(), { 'content-type': 'image/jpeg' });
    await expectProblem(response, 415, 'unsupported_image_format');
  });

  it('truncated and flipped files are 200 or 4xx, never worse', async () => {
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const whole = await sharp(coffee).resize(120).toFormat(format).toBuffer();
      for (let part = 0; part < 64; part++) {
        const cut = whole.subarray(0, Math.floor((whole.length * part) / 64));
        const { status } = await server.post('/predict', cut, { 'content-type': 'image/x' });
        expect([400, 413, 415], `${format} ${String(part)}/64`).toContain(status);
      }
      for (let flip = 0; flip < 60; flip++) {
        const damaged = Buffer.from(whole);
        damaged[(flip * 7919) % whole.length] = (flip * 31) % 256;
        const { status } = await server.post('/predict', damaged, { 'content-type': 'image/x' });
        expect([200, 400, 413, 415], `${format} flip ${String(flip)}`).toContain(status);
      }
    }
  });

  it('pixel bombs are refused from the header', async () => {
    const jpeg = await sharp(coffee).jpeg().toBuffer();
    const sof = jpeg.indexOf(Buffer.from('ffc0', 'hex'));
    jpeg.writeUInt16BE(64_250, sof + 5);
    jpeg.writeUInt16BE(64_250, sof + 7);
    await expectProblem(await server.post('/predict', jpeg), 413, 'image_too_large');
    const png = Buffer.from(good);
    png.writeUInt32BE(30_000, 16);
    png.writeUInt32BE(30_000, 20);
    await expectProblem(await server.post('/predict', png), 413, 'image_too_large');
  });

  it('a costly progressive JPEG is refused where a baseline one is not', async () => {
    const jpeg = await sharp(coffee).jpeg({ progressive: true }).toBuffer();
    const sof = jpeg.indexOf(Buffer.from('ffc2', 'hex'));
    jpeg.writeUInt16BE(7000, sof + 5);
    jpeg.writeUInt16BE(7000, sof + 7);
    await expectProblem(await server.post('/predict', jpeg), 413, 'image_too_costly');
  });

  it('too many bytes are 413, declared or not', async () => {
    const large = Buffer.alloc(3_000_001);
    await expectProblem(await server.post('/predict', large), 413, 'body_too_large');
    const stream = new Blob([new Uint8Array(large)]).stream();
    const init = {
      method: 'POST',
      headers: { 'content-type': 'image/png' },
      body: stream,
      duplex: 'half',
    };
    await expectProblem(
      await fetch(`${server.url}/predict`, init as RequestInit),
      413,
      'body_too_large',
    );
    const base64 = JSON.stringify({ image_b64: 'A'.repeat(4_000_400) });
    await expectProblem(
      await server.post('/predict', base64, { 'content-type': 'application/json' }),
      413,
      'body_too_large',
    );
  });

  it.each([
    ['{"image_b64": "%%%%"}', 400, 'invalid_base64'],
    ['{"image_b64": 5}', 422, 'invalid_request'],
    ['{}', 422, 'invalid_request'],
    ['[]', 422, 'invalid_request'],
    ['{"image_b64": "AAAA", "confidence_threshold": 1e999}', 422, 'invalid_request'],
    ['{"image_b64": "AAAA", "confidence_threshold": NaN}', 400, 'invalid_json'],
    ['{"image_b64": "AAAA", "__proto__": {"admin": true}}', 422, 'invalid_request'],
    ['{"image_b64": "AAAA", "constructor": {"prototype": {}}}', 422, 'invalid_request'],
    ['{"image_b64": "AAAA"}', 415, 'unsupported_image_format'],
    [`{"a": ${'['.repeat(5000)}`, 400, 'invalid_json'],
    ['['.repeat(1_000_000), 400, 'invalid_json'],
    [`[${'0,'.repeat(1_000_000)}0]`, 400, 'invalid_json'],
    [`{"confidence_threshold": 0.${'1'.repeat(1_000_000)}}`, 400, 'invalid_json'],
    ['', 400, 'empty_body'],
  ])('JSON %#', async (body, status, code) => {
    const response = await server.post('/predict', body, { 'content-type': 'application/json' });
    await expectProblem(response, status, code);
  });

  it.each([
    ['application/json\ta', 415],
    ['application/json garbage', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data', 400],
    ['', 415],
  ])('content type %j is %i', async (type, status) => {
    const response = await server.post('/predict', '{"image_b64":"AAAA"}', {
      'content-type': type,
    });
    expect(response.status).toBe(status);
    expect(Object.keys(ERRORS)).toContain(((await response.json()) as Problem).code);
  });

  it('compressed bodies are refused, not ignored', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync(good)],
      ['br', brotliCompressSync(good)],
      ['gzip, gzip', gzipSync(gzipSync(good))],
      ['identity', good],
    ] as const) {
      const headers = { 'content-type': 'image/png', 'content-encoding': encoding };
      await expectProblem(
        await server.post('/predict', body, headers),
        415,
        'unsupported_content_encoding',
      );
    }
  });

  it.each([
    '..%2f..%2fetc',
    'a%00b',
    '%F0%9F%90%9F',
    'ONE',
    'one%20',
    '__proto__',
    'constructor',
    'x'.repeat(100),
  ])('the model name %s is 404', async (name) => {
    for (const path of [`/models/${name}`, `/models/${name}/predict`]) {
      const init = path.endsWith('predict')
        ? { method: 'POST', body: good.toString('latin1') }
        : {};
      expect((await fetch(server.url + path, init)).status).toBe(404);
    }
  });

  it('a word that is not on the list is 422, with the list', async () => {
    const answer = await fetch(`${server.url}/readyz?only=jobs`);
    expect(await answer.clone().text()).toContain('one of the allowed values: predict');
    await expectProblem(answer, 422, 'invalid_request');
  });

  it('a URL that cannot be decoded is a problem, too', async () => {
    await expectProblem(await fetch(`${server.url}/models/%zz`), 400, 'malformed_request');
    for (const path of ['/nothing', '/docs/static/nothing', '/openapiXjson']) {
      await expectProblem(await fetch(server.url + path), 404, 'not_found');
    }
    const wrongMethod = await fetch(`${server.url}/models/one/predict`);
    expect(wrongMethod.headers.get('allow')).toBe('POST');
    await expectProblem(wrongMethod, 405, 'method_not_allowed');
  });

  it.each(['0', '-1', '1.5', 'soon', '99999999', '1e3'])(
    'X-Timeout-Ms: %s is 422',
    async (value) => {
      const response = await server.post('/predict', good, {
        'content-type': 'image/png',
        'x-timeout-ms': value,
      });
      await expectProblem(response, 422, 'invalid_request');
    },
  );

  it('unknown query parameters and odd thresholds are 422', async () => {
    for (const query of [
      'treshold=0.5',
      'confidence_threshold=NaN',
      'confidence_threshold=2',
      'confidence_threshold=0.1&confidence_threshold=0.2',
    ]) {
      await expectProblem(await server.post(`/predict?${query}`, good), 422, 'invalid_request');
    }
  });

  it('hundred bad requests leave no memory behind', async () => {
    const cut = coffee.subarray(0, 30_000);
    const rss = (): number =>
      [server.pid, ...server.enginePids()].reduce(
        (sum, pid) =>
          sum + Number(readFileSync(`/proc/${String(pid)}/statm`, 'utf8').split(' ')[1]) * 4096,
        0,
      );
    const flood = async (): Promise<void> => {
      for (let turn = 0; turn < 100; turn++) {
        expect((await server.post('/predict', cut, { 'content-type': 'image/jpeg' })).status).toBe(
          400,
        );
      }
    };
    await flood();
    await flood();
    const before = rss();
    await flood();
    expect(rss() - before).toBeLessThan(32 * 2 ** 20);
  });
});
