import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue, type Flow } from '../../src/admission/fair-queue.js';

const flow = (name: string, weight = 1): Flow => ({ name, weight });

function drain(queue: FairQueue<string>, count = queue.size): string {
  return Array.from({ length: count }, () => queue.shift()).join('');
}

describe('FairQueue', () => {
  it('is first in, first out for one flow', () => {
    const queue = new FairQueue<string>();
    const a = flow('a');
    for (const item of ['1', '2', '3']) queue.push(a, item);
    expect(drain(queue)).toBe('123');
  });

  it('takes turns, however much one of them sends', () => {
    const queue = new FairQueue<string>();
    const [a, b] = [flow('a'), flow('b')];
    for (let index = 0; index < 6; index++) queue.push(a, 'a');
    for (let index = 0; index < 3; index++) queue.push(b, 'b');
    expect(drain(queue)).toBe('abababaaa');
  });

  it('gives twice the weight twice the share', () => {
    const queue = new FairQueue<string>();
    const [a, b] = [flow('a', 2), flow('b', 1)];
    for (let index = 0; index < 8; index++) {
      queue.push(a, 'a');
      queue.push(b, 'b');
    }
    const first = drain(queue, 9);
    expect(first.replaceAll('b', '')).toHaveLength(6);
  });

  it('does not let a flow save up for later, nor owe from before', () => {
    const queue = new FairQueue<string>();
    const [a, b] = [flow('a'), flow('b')];
    for (let index = 0; index < 50; index++) queue.push(a, 'a');
    drain(queue, 40);
    // It was away all the time and gets its half from now on, not everything.
    for (let index = 0; index < 10; index++) queue.push(b, 'b');
    expect(drain(queue, 8).replaceAll('a', '')).toHaveLength(4);
  });

  it('forgets what is removed', () => {
    const queue = new FairQueue<string>();
    const a = flow('a');
    for (const item of ['1', '2', '3']) queue.push(a, item);
    expect(queue.remove(a, '2')).toBe(true);
    expect(queue.remove(a, '2')).toBe(false);
    expect([queue.size, drain(queue)]).toEqual([2, '13']);
  });

  it('forgets who came once, whether others wait or not', () => {
    const queue = new FairQueue<string>();
    const steady = flow('steady');
    for (let index = 0; index < 300; index++) queue.push(steady, 's');
    for (let index = 0; index < 100; index++) {
      queue.push(flow(String(index)), 'x');
      drain(queue, 2);
      expect(queue.flows).toBeLessThan(5);
    }
    drain(queue);
    for (let index = 0; index < 100; index++) {
      queue.push(flow(String(index)), 'x');
      if (index % 2 === 0) queue.shift();
    }
    drain(queue);
    expect(queue.flows).toBe(0);
  });

  const event = fc.record({ who: fc.nat(3), kind: fc.constantFrom('push', 'push', 'shift') });
  const weights = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 4, maxLength: 4 });

  it('knows how many go before a newcomer', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), weights, fc.nat(3), (events, ws, who) => {
        const queue = new FairQueue<string>();
        const flows = ws.map((weight, at) => flow(String(at), weight));
        for (const { who: at, kind } of events) {
          if (kind === 'push') queue.push(flows[at] as Flow, 'old');
          else queue.shift();
        }
        const ahead = queue.aheadOf(flows[who] as Flow);
        queue.push(flows[who] as Flow, 'new');
        let before = 0;
        while (queue.shift() !== 'new') before++;
        // Equal turns may go either way, once per other flow.
        expect(Math.abs(ahead - before)).toBeLessThanOrEqual(3);
      }),
    );
  });

  it('loses nothing, and serves whoever waits within a bounded number of turns', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 120 }), weights, (events, ws) => {
        const queue = new FairQueue<number>();
        const flows = ws.map((weight, at) => flow(String(at), weight));
        let [pushed, shifted] = [0, 0];
        for (const { who, kind } of events) {
          if (kind === 'push') queue.push(flows[who] as Flow, pushed++);
          else if (queue.shift() !== undefined) shifted++;
        }
        expect(queue.size).toBe(pushed - shifted);
        // The heaviest others get 5 turns each for one of the lightest.
        for (const one of flows.filter((each) => queue.sizeOf(each) > 0)) {
          expect(queue.aheadOf(one) - queue.sizeOf(one) * 16).toBeLessThanOrEqual(16);
        }
        while (queue.shift() !== undefined) shifted++;
        expect(shifted).toBe(pushed);
      }),
    );
  });
});
