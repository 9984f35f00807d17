import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64 } from '../../src/http/base64.js';
import { expectCode } from '../helpers/errors.js';

const MAX = 2 ** 20;
const decode = (text: string): Buffer => decodeBase64(Buffer.from(text, 'latin1'), MAX);

describe('decodeBase64', () => {
  it('gives back what was encoded, at any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        expect(decode(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('crosses its own steps without losing a byte', () => {
    for (const length of [24_575, 24_576, 24_577, 100_000]) {
      const bytes = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 31) % 256));
      expect(decode(bytes.toString('base64')).equals(bytes)).toBe(true);
    }
  });

  it('takes data: URLs of the image formats and escaped slashes', () => {
    expect(decode('data:image/jpeg;base64,/9j/')).toEqual(Buffer.from('/9j/', 'base64'));
    expect(decode('data:image/png;base64,iVBO')).toEqual(Buffer.from('iVBO', 'base64'));
    expect(decode('\\/9j\\/')).toEqual(Buffer.from('/9j/', 'base64'));
  });

  it.each([
    ['text', '!!!not base64###', 'character'],
    ['white space', 'AAAA\\nAAAA', 'white space'],
    ['a space', 'AAA AAAA', 'white space'],
    ['URL-safe digits', 'AA-_AAAA', 'URL-safe'],
    ['missing padding', 'AAA', 'multiple of four'],
    ['one digit too many', 'AAAAA', 'multiple of four'],
    ['padding in the middle', 'AAA=AAAA', 'middle'],
    ['padding only', '====', 'middle'],
    ['three pads', 'A===', 'middle'],
    ['stray bits', 'AAF=', 'stray'],
    ['stray bits with two pads', 'AB==', 'stray'],
    ['another kind of data: URL', 'data:text/html;base64,AAAA', 'data:image/jpeg'],
    ['a data: URL without base64', 'data:image/png,AAAA', 'data:image/jpeg'],
    ['ten thousand commas', `data:image/png${','.repeat(10_000)}`, 'data:image/jpeg'],
    ['a character beyond ASCII', 'AAAÿ', 'character'],
  ])('refuses %s', (_name, text, hint) => {
    expect(expectCode('invalid_base64', () => decode(text))).toContain(hint);
  });

  it('refuses every text that is not the one encoding of its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString('latin1');
        const canonical = Buffer.from(text, 'base64').toString('base64');
        fc.pre(canonical !== text);
        expect(() => decode(text)).toThrow();
      }),
    );
  });

  it('is quick with the worst that can be sent', () => {
    // Not a measurement: what takes time here took seconds, and the runner would give up.
    const slashes = decodeBase64(Buffer.alloc(8 * MAX, '\\/'), 8 * MAX);
    expect(slashes.equals(Buffer.alloc(3 * MAX, 0xff))).toBe(true);
    const bad = Buffer.alloc(20 * MAX, 'A');
    bad[bad.length - 1] = 0x21;
    expect(expectCode('invalid_base64', () => decodeBase64(bad, 20 * MAX))).toContain('character');
  });

  it('refuses what is empty or too long before it decodes', () => {
    expectCode('empty_body', () => decode(''));
    expectCode('empty_body', () => decode('data:image/png;base64,'));
    expectCode('body_too_large', () => decodeBase64(Buffer.alloc(4 * MAX, 'A'), MAX));
  });
});
