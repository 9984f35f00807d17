import { describe, expect, it } from 'vitest';
import { parseHead } from '../../src/load/response-head.js';
import { ResponseReader } from '../../src/load/response-reader.js';

const lines = (...all: string[]): string => all.join('\r\n');
const OK = lines('HTTP/1.1 200 OK', 'Content-Length: 5', '', 'hello');
const REFUSAL = lines('HTTP/1.1 429 Too Many', 'retry-after: 3', 'content-length: 2', '', 'no');
const EMPTY = lines('HTTP/1.1 204 No Content', '', '');
const CHUNKED = lines(
  'HTTP/1.1 200 OK',
  'Transfer-Encoding: chunked',
  '',
  'a;x=1',
  '0123\r\n\r\n89',
  '1',
  'x',
  '0',
  'Trailer: t',
  '',
  '',
);
const EARLY_HINTS = lines('HTTP/1.1 103 Early Hints', 'Link: x', '', OK);

describe('a response head', () => {
  it('gives what is needed', () => {
    expect(
      parseHead(
        lines(
          'HTTP/1.1 429 Too Many Requests',
          'Content-Type: text/plain',
          'CONTENT-LENGTH:12',
          'Retry-After: 7',
          'Connection: keep-alive',
          'Keep-Alive: timeout=65',
        ),
      ),
    ).toEqual({
      status: 429,
      contentLength: 12,
      isChunked: false,
      isLast: false,
      retryAfterSeconds: 7,
      keepAliveSeconds: 65,
    });
  });

  it('knows when a connection ends', () => {
    const isLast = (...all: string[]): boolean | undefined => parseHead(lines(...all))?.isLast;
    expect(isLast('HTTP/1.1 200 OK')).toBe(false);
    expect(isLast('HTTP/1.1 200 OK', 'Connection: Close')).toBe(true);
    expect(isLast('HTTP/1.0 200 OK')).toBe(true);
    expect(isLast('HTTP/1.0 200 OK', 'Connection: keep-alive')).toBe(false);
  });

  it('has no Retry-After where it is a date, and is nothing where it is not HTTP', () => {
    const date = lines('HTTP/1.1 503 X', 'Retry-After: Wed, 21 Oct 2015 07:28:00 GMT');
    expect(parseHead(date)?.retryAfterSeconds).toBeUndefined();
    expect(parseHead('HTTP/2 200')).toBeUndefined();
    expect(parseHead('hello')).toBeUndefined();
  });
});

describe('the response reader', () => {
  it.each([
    ['with a length', OK, 200],
    ['with Retry-After', REFUSAL, 429],
    ['without a body', EMPTY, 204],
    ['in chunks', CHUNKED, 200],
    ['after an interim one', EARLY_HINTS, 200],
  ])('finds the end of an answer %s, wherever it is cut', (_name, text, status) => {
    const bytes = Buffer.from(text);
    const reader = new ResponseReader();
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length);
      const heads = parts.map((part) => reader.push(part));
      expect(heads.at(-1), `cut at ${String(cut)}`).toMatchObject({ status });
      expect(heads.slice(0, -1).every((head) => head === undefined)).toBe(true);
    }
    const heads = [...bytes].map((byte) => reader.push(Buffer.of(byte)));
    expect(heads.pop()).toMatchObject({ status });
    expect(heads.every((head) => head === undefined)).toBe(true);
  });

  it('does not keep the bytes it was given', () => {
    const reader = new ResponseReader();
    const block = Buffer.from(REFUSAL);
    for (let at = 0; at < REFUSAL.length; at++) {
      block.fill(0);
      block.write(REFUSAL.charAt(at), at);
      const head = reader.push(block.subarray(at, at + 1));
      if (at === REFUSAL.length - 1) expect(head).toMatchObject({ retryAfterSeconds: 3 });
    }
  });

  it('takes the end of the connection as the end of a body that does not say its length', () => {
    const reader = new ResponseReader();
    expect(reader.push(Buffer.from('HTTP/1.1 200 OK\r\n\r\nsome'))).toBeUndefined();
    expect(reader.push(Buffer.from(' more'))).toBeUndefined();
    expect(reader.end()).toMatchObject({ status: 200 });
  });

  it.each([
    ['nothing', ''],
    ['half a head', OK.slice(0, 20)],
    ['half a body', OK.slice(0, -1)],
    ['half of the chunks', CHUNKED.slice(0, -10)],
  ])('knows that %s is no answer', (_name, text) => {
    const reader = new ResponseReader();
    if (text !== '') expect(reader.push(Buffer.from(text))).toBeUndefined();
    expect(reader.end()).toBeUndefined();
  });

  it.each([
    ['what is not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`],
    ['more than one answer', OK + OK],
  ])('refuses %s', (_name, text) => {
    expect(new ResponseReader().push(Buffer.from(text))).toBe('malformed');
  });
});
