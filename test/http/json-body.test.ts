import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody, parseJsonListBody } from '../../src/http/json-body.js';
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

describe('parseJsonListBody', () => {
  const parseList = (text: string): ReturnType<typeof parseJsonListBody> =>
    parseJsonListBody(Buffer.from(text), 50);

  it('agrees with JSON.parse for any list of images and however it is spaced', () => {
    const space = fc.constantFrom('', ' ', '\n', '\t', ' \r\n');
    fc.assert(
      fc.property(fc.array(fc.base64String(), { maxLength: 50 }), space, (images, gap) => {
        const list = images.map((image) => `${gap}"${image}"${gap}`).join(',');
        const found = parseList(
          `{"model":${gap}"m",${gap}"images_b64"${gap}:${gap}[${gap}${list}${gap}]${gap}}`,
        );
        expect(found?.rest).toEqual({ model: 'm' });
        expect(found?.images.map(String)).toEqual(images);
      }),
    );
  });

  it.each([
    ['something else than a list', '{"images_b64": "QUJD"}'],
    ['something else than strings', '{"images_b64": ["QUJD", 5]}'],
    ['nothing of the kind', '{"image_b64": "QUJD"}'],
  ])('leaves %s to those who check', (_name, text) => {
    expect(parseList(text)).toBeUndefined();
  });

  it.each([
    '{"images_b64": ["a",]}',
    '{"images_b64": ["a" "b"]}',
    '{"images_b64": ["a',
    '{"images_b64": [,]}',
    '{"model": "images_b64"}',
  ])('does not take %s for a list', (text) => {
    expect(parseList(text)).toBeUndefined();
  });

  it('stops reading when there are too many', () => {
    expectCode('body_too_large', () => parseList(`{"images_b64": [${'"",'.repeat(1e6)}`));
  });

  it('refuses a list that is not in the outermost object', () => {
    expectCode('invalid_request', () => parseList('{"a": {"images_b64": ["a"]}}'));
  });
});
