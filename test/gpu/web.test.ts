import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readPage } from '../../src/gpu/net/read-body.js';
import { Web } from '../../src/gpu/net/web.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

function patientWeb(indexUrls: readonly string[] = [], silenceMs = 60_000, now = Date.now) {
  const delays: number[] = [];
  const sleep = (ms: number) => Promise.resolve(delays.push(ms));
  return { web: new Web({ indexUrls, hasProxy: false, sleep, silenceMs, now }), delays };
}
const read = (web: Web, url: string) => readPage(web, url, '*/*', 1000).then(({ text }) => text);

describe('reading from the web', () => {
  it('tries again, ever more slowly, while a server is busy or breaks off', async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      if (requests === 1) response.writeHead(503).end();
      else if (requests === 2) response.destroy();
      else if (requests === 3) response.writeHead(429).end();
      else response.end('here');
    });
    const { web, delays } = patientWeb();
    expect(await read(web, url)).toBe('here');
    expect(delays).toEqual([1000, 2000, 4000]);
  });

  it('waits as long as a busy server asks, but not for hours', async () => {
    const NOW = Date.parse('2026-03-01T12:00:00Z');
    const answers = ['0', '30', 'Sun, 01 Mar 2026 12:01:30 GMT', '86400', 'soon'];
    const url = await serve((_, response) => {
      const wait = answers.shift();
      if (wait === undefined) response.end('here');
      else response.writeHead(wait === '30' ? 429 : 503, { 'retry-after': wait }).end();
    });
    const { web, delays } = patientWeb([], 60_000, () => NOW);
    expect(await read(web, url)).toBe('here');
    expect(delays).toEqual([1000, 30_000, 90_000, 180_000, 16_000]);
  });

  it('gives up in the end, with the reason', async () => {
    const url = await serve((_, response) => response.writeHead(502).end());
    const { web, delays } = patientWeb();
    await expect(read(web, url)).rejects.toThrow(/cannot read http.*: the server answers 502/);
    expect(delays).toHaveLength(5);
  });

  it('does not repeat what would be answered the same', async () => {
    const url = await serve((_, response) => response.writeHead(403).end());
    const { web, delays } = patientWeb();
    await expect(read(web, url)).rejects.toThrow(/answers 403/);
    expect(delays).toEqual([]);
  });

  it('takes a connection on which nothing comes for a broken one', async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      if (requests > 1) response.end('here');
      else response.write('he');
    });
    const { web, delays } = patientWeb([], 300);
    expect(await read(web, url)).toBe('here');
    expect(delays.length).toBeGreaterThan(0);
  });

  it('does not take more than it expects', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(2000)));
    await expect(read(patientWeb().web, url)).rejects.toThrow(`${url}/ is far longer`);
  });

  it('sends credentials to the server that they are for, and to no other', async () => {
    const seen: Record<string, string | undefined> = {};
    const note = (name: string) =>
      serve((request, response) => {
        seen[name] = request.headers.authorization;
        response.end(name);
      });
    const [index, other] = [await note('index'), await note('other')];
    const { web } = patientWeb([index.replace('//', '//me:secret@')]);
    await read(web, `${index}/simple/x/`);
    await read(web, `${other}/files/x.whl`);
    expect(seen['index']).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
    expect(seen['other']).toBeUndefined();
  });

  it('sends each of several indexes on one server its own password', async () => {
    const url = await serve(({ headers }, response) => {
      response.end(Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString());
    });
    const at = (user: string, path: string) => `${url.replace('//', `//${user}:x@`)}${path}`;
    const { web } = patientWeb([at('a', '/a/simple'), at('b', '/b/simple'), at('c', '/b')]);
    expect(await read(web, `${url}/a/simple/x/`)).toBe('a:x');
    expect(await read(web, `${url}/b/simple/x/`)).toBe('b:x');
    expect(await read(web, `${url}/b/simpler/x/`)).toBe('c:x');
    expect(await read(web, `${url}/a/files/x.whl`)).toBe('a:x');
    expect(await read(web, `${url}/files/x.whl`)).toBe('a:x');
  });
});
