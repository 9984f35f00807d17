import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tenant } from '../../src/admission/tenant.js';
import { Turns } from '../../src/admission/turns.js';

const tenant = (name: string): Tenant =>
  new Tenant({
    name,
    owner: name,
    weight: 1,
    rate: 0,
    concurrency: 0,
    queueShare: 1,
    isBackground: false,
  });

describe('turns', () => {
  it('keep the items of a busy tenant in their order, whatever has left meanwhile', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3)), (gaps) => {
        const turns = new Turns();
        const one = tenant('one');
        const inside: number[] = [turns.next(one, 0)];
        let last = 0;
        for (const leaving of gaps) {
          const turn = turns.next(one, inside.length);
          expect(turn).toBeGreaterThan(last);
          last = turn;
          inside.push(turn);
          for (const left of inside.splice(0, Math.min(leaving, inside.length - 1))) {
            turns.left(left);
          }
        }
      }),
    );
  });

  it('let whoever has little in work go before whoever has much', () => {
    const turns = new Turns();
    const [many, few] = [tenant('many'), tenant('few')];
    const flood = Array.from({ length: 100 }, (_, inWork) => turns.next(many, inWork));
    expect(turns.next(few, 0)).toBe(0);
    const second = turns.next(few, 1);
    expect(flood.filter((turn) => turn < second).length).toBeLessThanOrEqual(2);
  });

  it('give nobody credit for having been away', () => {
    const turns = new Turns();
    const [busy, back] = [tenant('busy'), tenant('back')];
    turns.next(back, 0);
    for (let inWork = 0; inWork < 50; inWork++) turns.left(turns.next(busy, inWork));
    turns.next(back, 0);
    expect(turns.next(back, 1)).toBeGreaterThanOrEqual(49);
  });
});
