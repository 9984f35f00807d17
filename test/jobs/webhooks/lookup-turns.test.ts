import { describe, expect, it } from 'vitest';
import { LookupTurns } from '../../../src/jobs/webhooks/lookup-turns.js';

/** Everything that is ready to run, has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Look-ups that end when the test says so. */
class FakeLookup {
  readonly hosts: string[] = [];
  readonly #ends: ((isFound: boolean) => void)[] = [];

  readonly run = (host: string): Promise<readonly string[]> => {
    this.hosts.push(host);
    return new Promise((resolve, reject) => {
      this.#ends.push((isFound) => {
        if (isFound) resolve([`address of ${host}`]);
        else reject(new Error(`no ${host}`));
      });
    });
  };

  async end(at: number, isFound = true): Promise<void> {
    this.#ends[at]?.(isFound);
    await settled();
  }
}

describe('look-ups for webhooks', () => {
  it('are made one at a time, in the order they came', async () => {
    const lookup = new FakeLookup();
    const turns = new LookupTurns(lookup.run);
    const { signal } = new AbortController();
    const all = ['a', 'b', 'c'].map((host) => turns.resolve(host, signal));
    expect(lookup.hosts).toEqual(['a']);
    await lookup.end(0);
    expect(lookup.hosts).toEqual(['a', 'b']);
    const refused = all[1]?.catch((error: unknown) => (error as Error).message);
    // One that comes at the moment when the turn is passed on does not get in between.
    const passed = lookup.end(1, false);
    const last = turns.resolve('d', signal);
    await passed;
    expect(await refused).toBe('no b');
    expect(lookup.hosts).toEqual(['a', 'b', 'c']);
    await lookup.end(2);
    await lookup.end(3);
    expect([await all[0], await all[2], await last].flat()).toEqual(
      ['a', 'c', 'd'].map((host) => `address of ${host}`),
    );
  });

  it('that were given up count until they return', async () => {
    const lookup = new FakeLookup();
    const turns = new LookupTurns(lookup.run);
    const attempt = new AbortController();
    const first = turns.resolve('slow', attempt.signal);
    attempt.abort();
    const second = turns.resolve('b', new AbortController().signal);
    await settled();
    expect(lookup.hosts).toEqual(['slow']);
    await lookup.end(0);
    await lookup.end(1);
    expect([...(await first), ...(await second)]).toEqual(['address of slow', 'address of b']);
  });

  it('are not made for whoever does not wait any longer', async () => {
    const lookup = new FakeLookup();
    const turns = new LookupTurns(lookup.run);
    const attempt = new AbortController();
    const first = turns.resolve('slow', new AbortController().signal);
    const second = turns.resolve('b', attempt.signal);
    attempt.abort();
    await expect(second).rejects.toThrow('no turn');
    await expect(turns.resolve('c', attempt.signal)).rejects.toThrow();
    await lookup.end(0);
    await first;
    expect(lookup.hosts).toEqual(['slow']);
    const next = turns.resolve('d', new AbortController().signal);
    await lookup.end(1);
    expect(await next).toEqual(['address of d']);
  });
});
