import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';
import { expectUnharmed } from '../helpers/unharmed.js';

describe('on the socket', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start([
      stubModels({ one: {}, slow: { sleep_ms: 2000 } }),
      '--default-model',
      'one',
      '--headers-timeout-ms',
      '1500',
      '--body-timeout-ms',
      '2500',
    ]);
  });
  afterAll(() => server.stop());
  afterEach(() => expectUnharmed(server));

  /** Sends text over a plain socket and gives back all that comes. */
  function raw(text: string | Buffer, keepOpen = false): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        if (keepOpen) socket.write(text);
        else socket.end(text);
      });
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
      socket.on('close', () => {
        resolve(answer);
      });
      socket.on('error', () => undefined);
    });
  }

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    [
      'conflicting lengths',
      'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'two lengths',
      'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    ],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n'],
    ['a negative length', 'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n'],
  ])('%s gets a 400', async (_name, text) => {
    expect(await raw(text)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('headers that are too large get a 431', async () => {
    const answer = await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('"code":"headers_too_large"');
  });

  it('a flood of one-byte chunks is cut off', async () => {
    const head =
      'POST /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await raw(head + '1\r\na\r\n'.repeat(100_000) + '0\r\n\r\n', true);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('tiny chunks');
  });

  it('nonsense behind a request does not get into its answer', async () => {
    const submitted = await server.post('/jobs?model=slow', await solidPng(GREEN));
    expect(submitted.status).toBe(202);
    const { id } = (await submitted.json()) as { id: string };
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(server.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (text.includes('event: job')) socket.write('nonsense\r\n\r\n');
      });
      socket
        .on('error', () => undefined)
        .on('close', () => {
          resolve(text);
        });
      socket.write(`GET /jobs/${id}/events HTTP/1.1\r\nHost: x\r\n\r\n`);
    });
    expect(answer.match(/HTTP\/1\.1 /g)).toEqual(['HTTP/1.1 ']);
    await server.json(`/jobs/${id}?wait=20`);
  });

  it('a refused body of any announced length is not read for ever', async () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    socket.resume();
    socket.write('POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000000\r\n\r\n');
    const chunk = Buffer.alloc(2 ** 20);
    let sent = 0;
    while (!socket.destroyed && sent < 1000) {
      sent++;
      await new Promise((resolve) => {
        socket.write(chunk, resolve);
      });
    }
    expect(sent).toBeLessThan(200);
  });

  it('requests behind another one on a connection that dies leave nothing behind', async () => {
    const image = await solidPng(GREEN);
    const head = (length: number): string =>
      `POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: ${String(length)}\r\n\r\n`;
    for (let turn = 0; turn < 10; turn++) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(head(image.length));
      socket.write(image);
      socket.write(head(image.length));
      socket.write(image);
      socket.write(head(100_000));
      socket.write('some of it');
      await new Promise((resolve) => setTimeout(resolve, turn * 3));
      socket.resetAndDestroy();
    }
    await expect.poll(() => server.metric('shoal_request_bytes')).toBe(0);
    await expect
      .poll(() => server.metric('inference_requests_total{model="one",outcome="cancelled"}'))
      .toBeGreaterThanOrEqual(10);
  });

  it('a header called __proto__ does no harm', async () => {
    const answer = await raw(
      'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n__proto__: x\r\n\r\n',
      true,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('slow headers and slow bodies are ended, and honest requests are not kept waiting', async () => {
    const slow = [
      ...Array.from({ length: 20 }, () => raw('GET / HTTP/1.1\r\nHost: x\r\nA: ', true)),
      ...Array.from({ length: 20 }, () =>
        raw(
          'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\nabc',
          true,
        ),
      ),
    ];
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
    for (const answer of await Promise.all(slow)) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain('"code":"request_timeout"');
    }
  });

  it('control characters in a request id stay out of the log', async () => {
    const { length } = server.lines;
    await raw(
      'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: a\x1b[31mb\r\n\r\n',
      true,
    );
    await expect.poll(() => server.lines.length).toBeGreaterThan(length);
    expect(JSON.stringify(server.lines.slice(length))).not.toContain('[31m');
  });
});
