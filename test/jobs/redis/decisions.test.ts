import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ShoalError } from '../../../src/errors.js';
import { type Findings, objection, warnings } from '../../../src/jobs/redis/checks.js';
import { addressOf } from '../../../src/jobs/redis/connection.js';
import { isPassing, reasonOf, toStoreError } from '../../../src/jobs/redis/faults.js';
import { byteLimit, parseMemory } from '../../../src/jobs/redis/memory.js';

const GOOD: Findings = {
  version: '7.0.15',
  policy: 'noeviction',
  isCluster: false,
  isAppending: true,
  fsync: 'always',
  maxMemory: 0,
};

describe('what is asked of a Redis server', () => {
  it('is met by a good one', () => {
    expect(objection(GOOD)).toBeUndefined();
    expect(warnings(GOOD, 1000)).toEqual([]);
  });

  it.each([
    [{ version: '6.0.16' }, /too old/],
    [{ version: '5.0.7' }, /too old/],
    [{ policy: 'allkeys-lru' }, /noeviction/],
    [{ policy: 'volatile-ttl' }, /noeviction/],
    [{ isCluster: true }, /Cluster/],
  ])('excludes %o', (changes, reason) => {
    expect(objection({ ...GOOD, ...changes })).toMatch(reason);
  });

  it.each([{ version: '6.2.0' }, { version: '8.1.0' }, { version: undefined }])(
    'allows %o',
    (changes) => {
      expect(objection({ ...GOOD, ...changes })).toBeUndefined();
    },
  );

  it.each([
    [{ isAppending: false }, /no append-only file/],
    [{ fsync: 'everysec' }, /appendfsync everysec/],
    [{ policy: undefined }, /maxmemory-policy/],
    [{ maxMemory: 999 }, /max_store_bytes/],
  ])('leads to a warning for %o', (changes, text) => {
    expect(warnings({ ...GOOD, ...changes }, 1000)).toMatchObject([expect.stringMatching(text)]);
  });
});

describe('the room for jobs', () => {
  const bytes = fc.nat(2 ** 40);

  it('is what the operator said when Redis has no limit', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (maxBytes, used, jobs) => {
        expect(byteLimit(maxBytes, { used, max: 0, jobs })).toBe(maxBytes);
      }),
    );
  });

  it('never lets jobs fill Redis, and is never more than the operator said', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, fc.integer({ min: 1 }), (maxBytes, other, jobs, max) => {
        const limit = byteLimit(maxBytes, { used: other + jobs, max, jobs });
        expect(limit).toBeLessThanOrEqual(maxBytes);
        // Jobs up to the limit and everything else together.
        expect(limit + other).toBeLessThan(Math.max(max, jobs + other));
      }),
    );
  });

  it('is read from what Redis says', () => {
    const info = '# Memory\r\nused_memory:1234\r\nused_memory_human:1K\r\nmaxmemory:99\r\n';
    expect(parseMemory(info, 5)).toEqual({ used: 1234, max: 99, jobs: 5 });
    expect(parseMemory('', 5)).toEqual({ used: 0, max: 0, jobs: 5 });
  });
});

describe('what clients are told', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'store_full'],
    ['ERR Error running script: @user_script:1: OOM command not allowed', 'store_full'],
    ['Connection is closed.', 'store_unavailable'],
    ['LOADING Redis is loading the dataset in memory', 'store_unavailable'],
    ["READONLY You can't write against a read only replica.", 'store_unavailable'],
  ])('about %s', (message, code) => {
    expect(toStoreError(new Error(message))).toMatchObject({ code });
    expect(toStoreError(new Error(message)).message).not.toContain(message);
  });

  it.each([
    ["MISCONF Redis is configured to save RDB snapshots, but it's unable to persist", true],
    ['LOADING Redis is loading the dataset in memory', true],
    ["OOM command not allowed when used memory > 'maxmemory'.", true],
    ['ERR Error running script', false],
    ['Connection is closed.', false],
  ])('later, whether it passes: %s', (message, isExpected) => {
    expect(isPassing(new Error(message))).toBe(isExpected);
  });

  it('stays as it is when it was decided before', () => {
    const error = new ShoalError('queue_full', 'Full.');
    expect(toStoreError(error)).toBe(error);
  });
});

describe('what operators are told', () => {
  it('names the address without what is secret', () => {
    expect(addressOf('redis://user:secret@redis.example:6380/2')).toBe('redis.example:6380');
    expect(addressOf('rediss://:secret@redis.example')).toBe('redis.example:6379');
  });

  it('names a reason', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(reasonOf(refused)).toBe('ECONNREFUSED');
    expect(reasonOf(new Error('WRONGPASS'))).toBe('WRONGPASS');
    expect(reasonOf(new AggregateError([], ''))).toBe('AggregateError');
    expect(reasonOf('x')).toBe('unknown');
  });
});
