import { describe, expect, it } from 'vitest';
import { tenantsByKey } from '../../src/admission/tenants.js';
import { loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { KeyRing } from '../../src/http/auth.js';
import { expectCode } from '../helpers/errors.js';

const config = (...keys: string[]): Config =>
  loadConfig({ environment: { SHOAL_API_KEYS: keys.join(',') }, flags: {} });
const ring = new KeyRing(tenantsByKey(config('first-key-1', 'second-key-2')));

describe('KeyRing', () => {
  it.each([
    { authorization: 'Bearer first-key-1' },
    { authorization: 'bearer  second-key-2' },
    { 'x-api-key': 'second-key-2' },
    { authorization: `Basic ${Buffer.from('anyone:first-key-1').toString('base64')}` },
  ])('lets %j in', (headers) => {
    expect(() => {
      ring.identify(headers);
    }).not.toThrow();
  });

  it.each([
    {},
    { authorization: '' },
    { authorization: 'first-key-1' },
    { authorization: 'Basic first-key-1' },
    { authorization: `Basic ${Buffer.from('first-key-1:x').toString('base64')}` },
    { authorization: 'Bearer first-key' },
    { authorization: 'Bearer first-key-11' },
    { 'x-api-key': '' },
    { 'x-api-key': 'FIRST-KEY-1' },
    { 'x-api-key': 'x'.repeat(10_000) },
  ])('keeps %j out', (headers) => {
    expectCode('unauthorized', () => {
      ring.identify(headers);
    });
  });

  it('asks for nothing when there are no keys', () => {
    expect(() => {
      new KeyRing(new Map()).identify({});
    }).not.toThrow();
  });
});
