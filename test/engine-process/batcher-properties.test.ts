import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BYTES, meta, setUp, setUpPipeline } from '../helpers/fake-lane.js';

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), time: fc.nat(30) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), lane: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), lane: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), id: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(15) }) },
);
const mode = fc.constantFrom('adaptive' as const, 'fixed' as const, 'off' as const);

describe.each(['plain', 'pipelined'] as const)('Batcher on %s lanes', (kind) => {
  it('reports every item exactly once and with its own result, in any order of events', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        mode,
        fc.nat(2),
        fc.integer({ min: 1, max: 12 }),
        (steps, batching, decoders, maxItems) => {
          const wanted = { sessions: 3 - decoders, mode: batching, maxBatch: 3, maxItems };
          const { batcher, threads, advance, outcomes, state } = start(decoders, wanted);
          let added = 0;
          for (const one of steps) {
            if (one.kind === 'add') batcher.add(meta(++added, one.time + 1), BYTES);
            else if (one.kind === 'cancel') batcher.cancel(one.id);
            else if (one.kind === 'wait') advance(one.ms);
            else threads[one.lane]?.finish(one.kind === 'fail');
          }
          for (let turn = 0; batcher.size > 0 && turn < 1000; turn++) {
            for (const thread of threads) thread.finish();
            advance(10);
          }
          const ids = outcomes().map(({ id }) => id);
          const all = Array.from({ length: added }, (_, index) => index + 1);
          expect(ids.toSorted((a, b) => a - b)).toEqual(all);
          for (const outcome of outcomes()) {
            if ('detections' in outcome) expect(outcome.detections[0]?.bbox[0]).toBe(outcome.id);
          }
          expect(state.released).toBe(added);
        },
      ),
      { numRuns: 500 },
    );
  });

  function start(decoders: number, wanted: Parameters<typeof setUp>[0]) {
    if (kind === 'plain') {
      const { lanes, ...rest } = setUp({ ...wanted, decoders });
      return { threads: lanes, ...rest };
    }
    const { sessions, helpers, ...rest } = setUpPipeline({ ...wanted, decoders: decoders + 1 });
    return { threads: [...sessions, ...helpers], ...rest };
  }
});
