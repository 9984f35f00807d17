import { describe, expect, it } from 'vitest';
import { parseContentType } from '../../src/http/content-type.js';
import { expectCode } from '../helpers/errors.js';

describe('parseContentType', () => {
  it.each([
    ['application/json', { kind: 'json' }],
    ['APPLICATION/JSON; charset=utf-8', { kind: 'json' }],
    [' application/json', { kind: 'json' }],
    ['image/jpeg', { kind: 'image' }],
    ['image/whatever', { kind: 'image' }],
    ['application/octet-stream', { kind: 'image' }],
    ['multipart/form-data; boundary=abc', { kind: 'multipart', boundary: 'abc' }],
    ['multipart/form-data; boundary="a b"', { kind: 'multipart', boundary: 'a b' }],
    ['multipart/form-data', { kind: 'multipart', boundary: '' }],
  ])('%s', (header, form) => {
    expect(parseContentType(header)).toEqual(form);
  });

  it.each([
    undefined,
    '',
    'application/json\ta',
    'application/json garbage',
    'text/plain',
    'json',
    'application/json, image/png',
  ])('refuses %j', (header) => {
    expectCode('unsupported_content_type', () => parseContentType(header));
  });

  it('tells users of curl -d what to add', () => {
    const call = (): unknown => parseContentType('application/x-www-form-urlencoded');
    expect(expectCode('unsupported_content_type', call)).toContain(
      'Content-Type: application/json',
    );
  });
});
