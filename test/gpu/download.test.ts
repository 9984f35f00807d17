import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { download } from '../../src/gpu/net/download.js';
import { RemoteFile } from '../../src/gpu/net/remote-file.js';
import { Web } from '../../src/gpu/net/web.js';

const data = randomBytes(200_000);
const sha256 = createHash('sha256').update(data).digest('hex');
let folder = '';
let server: Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-download-'));
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  rmSync(folder, { recursive: true });
});

async function serve(listener: RequestListener): Promise<{ url: string; web: Web }> {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${String((started.address() as AddressInfo).port)}/x.whl`;
  const web = new Web({ indexUrls: [], hasProxy: false, sleep: () => Promise.resolve() });
  return { url, web };
}

/** Downloads from a server that answers like this. */
async function fetchFrom(listener: RequestListener, bytes?: number): Promise<Buffer> {
  const { url, web } = await serve(listener);
  const partPath = join(folder, 'x.part');
  await download(web, { url, sha256, bytes, partPath, onProgress: () => undefined });
  return readFileSync(partPath);
}

describe('a download', () => {
  it.each([
    ['no such range', 416, {}],
    ['another range', 206, { 'content-range': 'bytes 5-9/200000' }],
  ])(
    'ends where whole answers are cut and the rest is answered with %s',
    async (_, status, headers) => {
      let requests = 0;
      const listener: RequestListener = (request, response) => {
        requests++;
        // Only so that a download without an end fails instead of hanging.
        if (requests > 50) response.writeHead(404).end();
        else if (request.headers.range !== undefined) response.writeHead(status, headers).end();
        else {
          response.writeHead(200, { 'content-length': data.length });
          response.write(data.subarray(0, 100_000), () => response.destroy());
        }
      };
      await expect(fetchFrom(listener)).rejects.toThrow(/cannot read http/);
      expect(requests).toBeLessThan(20);
    },
  );

  it('has as many attempts again whenever it gets further', async () => {
    let requests = 0;
    const got = await fetchFrom((request, response) => {
      requests++;
      const start = Number(/\d+/.exec(request.headers.range ?? '0')?.[0]);
      const range = `bytes ${String(start)}-${String(data.length - 1)}/${String(data.length)}`;
      response.writeHead(206, { 'content-range': range });
      response.write(data.subarray(start, start + 20_000), () => {
        if (start + 20_000 < data.length) response.destroy();
        else response.end();
      });
    });
    expect(got.equals(data)).toBe(true);
    expect(requests).toBeGreaterThan(6);
  });

  it('is unpacked where the server packs it in spite of what it was asked', async () => {
    const packed = gzipSync(data, { level: 0 });
    let requests = 0;
    const got = await fetchFrom((request, response) => {
      requests++;
      const isWhole = request.headers.range === undefined;
      const piece = isWhole ? packed : packed.subarray(1000);
      const range = `bytes 1000-${String(packed.length - 1)}/${String(packed.length)}`;
      response.writeHead(isWhole ? 200 : 206, {
        'content-encoding': 'gzip',
        'content-length': piece.length,
        ...(!isWhole && { 'content-range': range }),
      });
      if (requests > 1) response.end(piece);
      else response.write(piece.subarray(0, 100_000), () => response.destroy());
    }, data.length);
    expect(got.equals(data)).toBe(true);
  });

  it('is not looked into where parts of it come packed', async () => {
    const { url, web } = await serve((_, response) => {
      response.writeHead(206, {
        'content-encoding': 'gzip',
        'content-range': `bytes 0-${String(data.length - 1)}/${String(data.length)}`,
      });
      response.end(gzipSync(data).subarray(0, 50));
    });
    expect(await RemoteFile.open(web, url)).toBeUndefined();
  });

  it('is named when more comes than the index announces', async () => {
    const listener: RequestListener = (_, response) => {
      response.write(data);
      response.end();
    };
    await expect(fetchFrom(listener, 1000)).rejects.toThrow(/^http:\S+\/x\.whl is longer than/);
  });
});
