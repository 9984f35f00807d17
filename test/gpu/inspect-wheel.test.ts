import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { inspectWheel, type InspectedWheel } from '../../src/gpu/install/inspect-wheel.js';
import { Web } from '../../src/gpu/net/web.js';
import { writeZip } from './zip-writer.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Looks into a wheel on a server that has just its last bytes and answers the rest like this. */
async function inspect(wheel: Buffer, metadata: RequestListener): Promise<InspectedWheel> {
  const started = createServer((request, response) => {
    if (request.url?.endsWith('.metadata') === true) {
      metadata(request, response);
      return;
    }
    const range = `bytes 0-${String(wheel.length - 1)}/${String(wheel.length)}`;
    response.writeHead(206, { 'content-range': range }).end(wheel);
  });
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  const filename = 'nvidia_x-1.0-py3-none-manylinux_2_17_x86_64.whl';
  const url = `http://127.0.0.1:${String((started.address() as AddressInfo).port)}/${filename}`;
  const web = new Web({ indexUrls: [], hasProxy: false, sleep: () => Promise.resolve() });
  const file = { filename, url, sha256: '', bytes: 1, isYanked: false, hasMetadata: true };
  return inspectWheel(web, { name: 'nvidia-x', version: '1.0', file }, () =>
    Promise.reject(new Error('not wanted')),
  );
}

const wheelWith = (metadata: string): Buffer =>
  writeZip([
    { name: 'nvidia/x/lib/libx.so.1', data: Buffer.from('x') },
    { name: 'nvidia_x-1.0.dist-info/METADATA', data: Buffer.from(metadata) },
  ]);
const good = wheelWith('Name: x\nRequires-Dist: nvidia-y\nRequires-Dist: pytz (>=2004d)\n\n');

describe('a look into a wheel', () => {
  it.each([403, 404, 405, 410])(
    'finds the metadata in it where the file beside it is answered with %i',
    async (status) => {
      const { requirements } = await inspect(good, (_, response) =>
        response.writeHead(status).end(),
      );
      expect(requirements.map(({ name }) => name)).toEqual(['nvidia-y']);
    },
  );

  it.each([401, 429, 500])('ends with the reason where it is %i', async (status) => {
    const looked = inspect(good, (_, response) => response.writeHead(status).end());
    await expect(looked).rejects.toThrow(new RegExp(`answers ${String(status)}`));
  });

  it('names the wheel that is damaged or asks for what is not understood', async () => {
    const none: RequestListener = (_, response) => response.writeHead(404).end();
    await expect(inspect(good.subarray(0, -30), none)).rejects.toThrow(
      /^nvidia_x-1\.0\S+\.whl cannot be read: it has no end/,
    );
    await expect(inspect(wheelWith('Requires-Dist: nvidia-y >=x\n\n'), none)).rejects.toThrow(
      /^nvidia_x-1\.0\S+\.whl cannot be used: the version ">=x" is not understood/,
    );
  });
});
