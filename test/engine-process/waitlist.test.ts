import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dropReason, type Item } from '../../src/engine-process/item.js';
import { Waitlist } from '../../src/engine-process/waitlist.js';
import { BYTES, meta } from '../helpers/fake-lane.js';

function item(id: number, deadline: number, isBackground: boolean): Item {
  return {
    meta: meta(id, deadline, isBackground),
    bytes: BYTES,
    deadline,
    state: 'queued',
    cancelled: false,
    slot: -1,
    decodeMs: 0,
    waitingSince: 0,
  };
}

describe('Waitlist', () => {
  it('sweeps out exactly those that are cancelled or expired, whenever it is asked', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('add' as const),
        time: fc.nat(20),
        background: fc.boolean(),
        cancelled: fc.boolean(),
      }),
      fc.record({ kind: fc.constant('cancel' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('take' as const), count: fc.nat(3) }),
      fc.record({ kind: fc.constant('sweep' as const), ms: fc.nat(6) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const list = new Waitlist();
        const inside = new Set<Item>();
        let [now, id] = [0, 0];
        for (const one of steps) {
          if (one.kind === 'add') {
            const added = item(++id, now + one.time, one.background);
            added.cancelled = one.cancelled;
            list.add(added);
            inside.add(added);
          } else if (one.kind === 'cancel') {
            const found = [...inside][one.which];
            if (found !== undefined) found.cancelled = true;
            list.recheck();
          } else if (one.kind === 'take') {
            for (const taken of list.take(one.count, 0)) inside.delete(taken);
          } else {
            now += one.ms;
            const unwanted = [...inside].filter((each) => dropReason(each, now) !== undefined);
            const swept = list.sweep(now);
            expect(new Set(swept)).toEqual(new Set(unwanted));
            for (const gone of swept) inside.delete(gone);
          }
          expect(list.size).toBe(inside.size);
        }
      }),
    );
  });
});
