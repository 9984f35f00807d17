import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Entry, GroupLimit } from '../../../src/jobs/webhooks/group-limit.js';

function leaveOf(entry: Entry): () => void {
  if (!entry.isAdmitted) throw new Error('not admitted');
  return () => {
    entry.leave();
  };
}
function delayOf(entry: Entry): number {
  if (entry.isAdmitted) throw new Error('admitted');
  return entry.delayMs;
}

describe('the limit per host or owner', () => {
  it('admits four at a time, and others at other hosts', () => {
    const limit = new GroupLimit(4, () => 0);
    const leaves = Array.from({ length: 4 }, () => leaveOf(limit.enter('a')));
    expect(limit.enter('a').isAdmitted).toBe(false);
    expect(limit.enter('b').isAdmitted).toBe(true);
    leaves[0]?.();
    expect(limit.enter('a').isAdmitted).toBe(true);
    expect(limit.enter('a').isAdmitted).toBe(false);
  });

  it('sends the others away for as long as attempts take at this host, one after the other', () => {
    let now = 0;
    const limit = new GroupLimit(4, () => now);
    // A host is forgotten when nothing is in work there; this one stays.
    leaveOf(limit.enter('slow'));
    for (let round = 0; round < 50; round++) {
      const leave = leaveOf(limit.enter('slow'));
      now += 8000;
      leave();
    }
    while (limit.enter('slow').isAdmitted);
    const delays = Array.from({ length: 10 }, () => delayOf(limit.enter('slow')));
    for (const [at, delay] of delays.entries()) {
      // One goes every two seconds; the first one sent away came before these.
      expect(Math.abs(delay - (at + 2) * 2000)).toBeLessThan(20);
    }
  });

  it('does not let a crowd of the past delay those who come later', () => {
    let now = 0;
    const limit = new GroupLimit(4, () => now);
    while (limit.enter('busy').isAdmitted);
    for (let index = 0; index < 5000; index++) limit.enter('busy');
    expect(delayOf(limit.enter('busy'))).toBe(300_000);
    now += 300_000;
    expect(delayOf(limit.enter('busy'))).toBeLessThan(1000);
  });

  it('never admits too many, never delays for long, and forgets hosts that are done', () => {
    const event = fc.record({
      host: fc.constantFrom('a', 'b'),
      leave: fc.boolean(),
      ms: fc.nat(1e6),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        let now = 0;
        const limit = new GroupLimit(4, () => now);
        const inside = { a: [] as (() => void)[], b: [] as (() => void)[] };
        for (const { host, leave, ms } of events as {
          host: 'a' | 'b';
          leave: boolean;
          ms: number;
        }[]) {
          now += ms;
          if (leave) {
            inside[host].shift()?.();
            continue;
          }
          const entry = limit.enter(host);
          expect(entry.isAdmitted).toBe(inside[host].length < 4);
          if (entry.isAdmitted) inside[host].push(leaveOf(entry));
          else {
            expect(entry.delayMs).toBeGreaterThanOrEqual(200);
            expect(entry.delayMs).toBeLessThanOrEqual(300_000);
          }
        }
        for (const leave of [...inside.a, ...inside.b]) leave();
        expect(limit.size).toBe(0);
      }),
    );
  });
});
