import { describe, expect, it } from 'vitest';
import { readPredictInput } from '../../src/http/predict-input.js';
import { expectCode } from '../helpers/errors.js';

const read = (json: string, query: Record<string, unknown> = {}): number =>
  readPredictInput({ kind: 'json' }, [Buffer.from(json)], query, 1000).threshold;

describe('the confidence threshold', () => {
  it('comes from the body, then from the query, then from the default', () => {
    expect(
      read('{"image_b64":"AAAA","confidence_threshold":0.2}', { confidence_threshold: '0.9' }),
    ).toBe(0.2);
    expect(read('{"image_b64":"AAAA"}', { confidence_threshold: '0.9' })).toBe(0.9);
    expect(read('{"image_b64":"AAAA"}')).toBe(0.5);
    expect(read('{"image_b64":"AAAA"}', { confidence_threshold: '1e-3' })).toBe(0.001);
    expect(read('{"image_b64":"AAAA","confidence_threshold":0}')).toBe(0);
  });

  it.each(['1e999', '-1', '1.0001', '"0.5"', 'null', '[]', '{}', 'true', '9007199254740993'])(
    'refuses %s in JSON',
    (value) => {
      expectCode('invalid_request', () =>
        read(`{"image_b64":"AAAA","confidence_threshold":${value}}`),
      );
    },
  );

  it.each([
    'NaN',
    'Infinity',
    '1e999',
    '',
    'abc',
    '-1',
    '0x1',
    ['0.1', '0.2'],
    `${'1'.repeat(100_000)}x`,
  ])('refuses %j in the query', (value) => {
    expectCode('invalid_request', () =>
      read('{"image_b64":"AAAA"}', { confidence_threshold: value }),
    );
  });
});

describe('fields', () => {
  it.each(['__proto__', 'constructor', 'treshold'])('refuses the unknown field %s', (name) => {
    expectCode('invalid_request', () => read(`{"image_b64":"AAAA","${name}":{"x":1}}`));
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('wants the image', () => {
    expectCode('invalid_request', () => read('{}'));
    expectCode('invalid_request', () => read('{"image_b64":5}'));
    expectCode('empty_body', () => read('{"image_b64":""}'));
    expectCode('empty_body', () => readPredictInput({ kind: 'image' }, [], {}, 1000));
  });
});
