import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ShoalError } from '../../src/errors.js';
import { parseMultipart, type Part, textFields } from '../../src/http/multipart.js';
import { expectCode } from '../helpers/errors.js';

const B = 'XBOUNDARYX';
const part = (headers: string, content: string): string =>
  `--${B}\r\n${headers}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, content);
const parse = (text: string, boundary = B): Part[] =>
  parseMultipart(Buffer.from(text, 'latin1'), boundary, 8);
const content = (parts: readonly Part[], name: string): Buffer | undefined =>
  parts.find((one) => one.name === name)?.bytes;

describe('parseMultipart', () => {
  it('agrees with what FormData writes, for any content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), fc.string({ maxLength: 20 }), async (bytes, name) => {
        const form = new FormData();
        form.set('image', new Blob([Buffer.from(bytes)]), name);
        form.set('confidence_threshold', '0.4');
        const response = new Response(form);
        const boundary =
          /boundary=(.*)/.exec(response.headers.get('content-type') ?? '')?.[1] ?? '';
        const parts = parseMultipart(Buffer.from(await response.arrayBuffer()), boundary, 8);
        expect(content(parts, 'image')).toEqual(Buffer.from(bytes));
        expect(content(parts, 'confidence_threshold')?.toString()).toBe('0.4');
      }),
    );
  });

  it('is not taken in by a file name that looks like a parameter', () => {
    const tricky = part(
      'Content-Disposition: form-data; filename="x; name=\\"evil\\""; name="image"',
      'A',
    );
    expect(parse(`${tricky}--${B}--`).map(({ name }) => name)).toEqual(['image']);
  });

  it.each([
    ['no boundary in the type', field('image', 'A'), ''],
    ['a boundary of 252 characters', field('image', 'A'), 'x'.repeat(252)],
    ['a body without the boundary', 'nothing', B],
    ['a body that is cut off', field('image', 'A').slice(0, -4), B],
    ['headers that do not end', `--${B}\r\nContent-Disposition: form-data; name="image"`, B],
    ['a part without a name', `${part('Content-Disposition: form-data', 'A')}--${B}--`, B],
    ['a part without a disposition', `${part('Content-Type: image/png', 'A')}--${B}--`, B],
    [
      '10,000 parts',
      `${Array.from({ length: 10_000 }, (_, i) => field(`f${String(i)}`, '')).join('')}--${B}--`,
      B,
    ],
  ])('refuses %s', (_name, text, boundary) => {
    expectCode('invalid_multipart', () => parse(text, boundary));
  });

  it('is quick with headers that are made to be slow', () => {
    const slow = part(`Content-Disposition: form-data; ${'a'.repeat(7900)}`, '');
    expectCode('invalid_multipart', () => parse(slow.repeat(1000)));
  });

  it('takes a field called __proto__ for what it is', () => {
    const parts = parse(`${field('__proto__', '1')}--${B}--`);
    expect(Object.entries(textFields(parts))).toEqual([['__proto__', '1']]);
    expect(({} as { 1?: unknown })[1]).toBeUndefined();
  });

  it('gives all parts of a name, but text only once', () => {
    const parts = parse(`${field('a', '1')}${field('a', '2')}--${B}--`);
    expect(parts.map(({ bytes }) => bytes.toString())).toEqual(['1', '2']);
    expectCode('invalid_multipart', () => textFields(parts));
  });

  it('gives parts or a ShoalError for any damage', () => {
    const good = `${field('image', 'content')}${field('b', '1')}--${B}--`;
    fc.assert(
      fc.property(
        fc.nat(good.length),
        fc.nat(20),
        fc.string({ maxLength: 5 }),
        (at, length, put) => {
          try {
            parse(good.slice(0, at) + put + good.slice(at + length));
          } catch (error) {
            expect(error).toBeInstanceOf(ShoalError);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
