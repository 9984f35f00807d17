import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody } from '../../src/http/json-body.js';
import { expectCode } from '../helpers/errors.js';

const parse = (text: string): ReturnType<typeof parseJsonBody> => parseJsonBody(Buffer.from(text));

describe('parseJsonBody', () => {
  it('cuts the image out and parses the rest', () => {
    const { rest, image } = parse('{"image_b64": "QUJD", "confidence_threshold": 0.3}');
    expect(rest).toEqual({ confidence_threshold: 0.3 });
    expect(image?.toString()).toBe('QUJD');
  });

  it('agrees with JSON.parse wherever the key stands and however it is spaced', () => {
    const space = fc.constantFrom('', ' ', '\n', '\t', ' \r\n');
    const others = fc.array(fc.tuple(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 })));
    fc.assert(
      fc.property(others, space, fc.base64String(), fc.nat(5), (entries, gap, image, place) => {
        const texts = entries
          .filter(([key]) => key !== 'image_b64' && key !== '__proto__')
          .map(([key, value]) => `${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(value)}`);
        texts.splice(place % (texts.length + 1), 0, `"image_b64"${gap}:${gap}"${image}"`);
        const text = `${gap}{${gap}${texts.join(`${gap},${gap}`)}${gap}}`;
        fc.pre(texts.filter((entry) => entry.includes('image_b64')).length === 1);
        const { image_b64: expectedImage, ...expected } = JSON.parse(text) as Record<
          string,
          unknown
        >;
        const parsed = parse(text);
        expect(parsed.rest).toEqual(expected);
        expect(parsed.image?.toString()).toBe(expectedImage);
      }),
    );
  });

  it.each([
    ['nested', '{"a": {"image_b64": "QUJD"}}'],
    ['inside another string', '{"a": "\\"image_b64\\": \\"QUJD\\"", "b": 1}'],
    ['twice', '{"image_b64": "QUJD", "image_b64": "REVG"}'],
  ])('does not take an image that stands %s', (_name, text) => {
    const outcome = ((): unknown => {
      try {
        return parse(text).image;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    })();
    expect([undefined, 'invalid_request']).toContain(outcome);
  });

  it('leaves an image that is no string to the schema', () => {
    expect(parse('{"image_b64": 5}')).toEqual({ rest: { image_b64: 5 }, image: undefined });
    expect(parse('{"image_b64": null}').image).toBeUndefined();
  });

  it.each([
    '',
    '{',
    '{"image_b64": "QUJD"',
    '{"image_b64": "QU',
    'nonsense',
    '{"a": NaN}',
    '\ufeff{}',
  ])('refuses %j', (text) => {
    expectCode('invalid_json', () => parse(text));
  });

  it.each(['[]', '"text"', '5', 'null'])('wants an object, not %s', (text) => {
    expectCode('invalid_request', () => parse(text));
  });

  it('refuses deep nesting and a large rest without parsing them', () => {
    expectCode('invalid_json', () => parse(`{"a": ${'['.repeat(100)}${']'.repeat(100)}}`));
    expectCode('invalid_json', () => parse('['.repeat(1_000_000)));
    expectCode('invalid_json', () => parse(`{"a": "${'x'.repeat(100_000)}"}`));
  });

  it('does not reach the prototype', () => {
    const { rest } = parse('{"image_b64": "QUJD", "__proto__": {"polluted": true}}');
    expect(Object.keys(rest)).toContain('__proto__');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
