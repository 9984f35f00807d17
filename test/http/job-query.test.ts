import { describe, expect, it } from 'vitest';
import { readIdempotencyKey } from '../../src/http/job-input.js';
import { readListQuery, readPurgeQuery, readWait } from '../../src/http/job-query.js';
import { expectCode } from '../helpers/errors.js';

describe('the queries of jobs', () => {
  it.each([
    [{}, 0],
    [{ wait: '0' }, 0],
    [{ wait: '30' }, 30],
    [{ wait: '0.25' }, 0.25],
    [{ wait: '60' }, 60],
  ])('wait as long as %j says', (query, seconds) => {
    expect(readWait(query)).toBe(seconds);
  });

  it.each(['61', '-1', '1e1', '', ' 1', 'NaN', ['1', '2'], '0x1'])('do not wait %j', (wait) => {
    expectCode('invalid_request', () => readWait({ wait }));
  });

  it('list what was asked for', () => {
    expect(readListQuery({})).toEqual({ limit: 20 });
    expect(readListQuery({ state: 'failed', limit: '5', cursor: '12.3' })).toEqual({
      state: 'failed',
      limit: 5,
      cursor: '12.3',
    });
  });

  it.each([
    { state: 'done' },
    { state: ['failed', 'queued'] },
    { limit: '0' },
    { limit: '101' },
    { limit: '1.5' },
    { cursor: '' },
    { cursor: 'x'.repeat(129) },
    { cursor: "1' or '1" },
    { offset: '1' },
  ])('do not list %j', (query) => {
    expectCode('invalid_request', () => readListQuery(query));
  });

  it('remove only states that are named', () => {
    expect(readPurgeQuery({ state: 'a,b,a' }, ['a', 'b'])).toEqual(['a', 'b']);
    for (const state of [undefined, '', 'a,', 'c', ['a']]) {
      expectCode('invalid_request', () => readPurgeQuery({ state }, ['a', 'b']));
    }
    expectCode('invalid_request', () => readPurgeQuery({ state: 'a', model: 'm' }, ['a', 'b']));
  });

  it('take visible keys', () => {
    expect(readIdempotencyKey(undefined)).toBeUndefined();
    expect(readIdempotencyKey('~a/B:1')).toBe('~a/B:1');
    for (const key of ['', ' a', 'a b', 'ä', 'x'.repeat(256), ['a', 'b']]) {
      expectCode('invalid_request', () => readIdempotencyKey(key));
    }
  });
});
