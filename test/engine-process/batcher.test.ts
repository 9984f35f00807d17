import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BatchingMode, ItemMeta, ItemOutcome, Results } from '../../src/engine/messages.js';
import { Batcher, type Lane } from '../../src/engine-process/batcher.js';
import type { LaneAnswer, LaneTask } from '../../src/engine-process/lane-messages.js';

/** A lane that keeps its task until it is told to finish it. */
class FakeLane implements Lane {
  readonly hasSession: boolean;
  task: LaneTask | undefined;
  #onAnswer: ((answer: LaneAnswer) => void) | undefined;

  constructor(hasSession = true) {
    this.hasSession = hasSession;
  }

  get isIdle(): boolean {
    return this.task === undefined;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    if (this.task !== undefined) throw new Error('this lane is busy');
    this.task = task;
    this.#onAnswer = onAnswer;
  }

  /** Results carry the width of their picture, so that a mix-up shows. */
  finish(decodeError = false): void {
    const task = this.task;
    if (task === undefined) return;
    this.task = undefined;
    const error = { code: 'invalid_image', detail: 'broken' } as const;
    if (task.kind === 'decode') {
      this.#onAnswer?.({ kind: 'decoded', ms: 1, ...(decodeError && { error }) });
      return;
    }
    const results = task.items.map(({ source, width }) => {
      const isEncoded = typeof source !== 'number';
      const found = [{ label: 'x', confidence: 1, bbox: [width, 0, 0, 0] as const }];
      return { decodeMs: isEncoded ? 1 : 0, result: isEncoded && decodeError ? error : found };
    });
    const batchSize = results.filter(({ result }) => !('code' in result)).length;
    this.#onAnswer?.({ kind: 'ran', batchSize, inferMs: 5, postMs: 1, results });
  }
}

interface SetUp {
  sessions?: number;
  decoders?: number;
  mode?: BatchingMode;
  maxBatch?: number;
  maxDecodeBytes?: number;
}

function setUp({
  sessions = 1,
  decoders = 0,
  mode = 'adaptive',
  maxBatch = 4,
  maxDecodeBytes = 1e9,
}: SetUp) {
  const state = { now: 0, timers: new Map<() => void, number>(), released: 0 };
  const reports: Results[] = [];
  const fakes = Array.from(
    { length: sessions + decoders },
    (_, index) => new FakeLane(index < sessions),
  );
  const plan = { sessions, threads: 1, maxBatch };
  const batcher = new Batcher(
    { plan, batching: mode, windowMs: 10, maxItems: 64, maxDecodeBytes },
    {
      lanes: fakes,
      now: () => state.now,
      after: (ms, callback) => {
        state.timers.set(callback, state.now + ms);
        return () => state.timers.delete(callback);
      },
      report: (results) => reports.push(results),
      releaseBytes: () => state.released++,
    },
  );
  const advance = (ms: number): void => {
    state.now += ms;
    for (const [callback, at] of [...state.timers]) {
      if (at <= state.now && state.timers.delete(callback)) callback();
    }
  };
  const outcomes = (): ItemOutcome[] => reports.flatMap(({ items }) => items);
  return { batcher, lanes: fakes, reports, state, advance, outcomes };
}

const meta = (id: number, timeLeftMs = 1000): ItemMeta => ({
  id,
  threshold: 0.5,
  timeLeftMs,
  // The id travels as the width, and the fake lane gives the width back as a coordinate.
  image: {
    format: 'jpeg',
    width: id,
    height: 1,
    orientation: 1,
    components: 3,
    depth: 8,
    progressive: false,
  },
});
const BYTES = new Uint8Array(1);

describe('Batcher', () => {
  it('lets a free session decode and run an item in one go, and reports the times of each stage', () => {
    const { batcher, lanes, state, outcomes } = setUp({});
    batcher.add(meta(7), BYTES);
    expect(lanes[0]?.task).toMatchObject({
      kind: 'run',
      items: [{ width: 7, source: { bytes: BYTES } }],
    });
    state.now = 5;
    lanes[0]?.finish();
    expect(outcomes()).toMatchObject([
      {
        id: 7,
        detections: [{ bbox: [7, 0, 0, 0] }],
        timings: { decodeMs: 1, inferMs: 5 },
      },
    ]);
    expect([batcher.size, state.released]).toEqual([0, 1]);
  });

  it('decodes in a lane without a session while the session runs', () => {
    const { batcher, lanes, outcomes } = setUp({ sessions: 1, decoders: 1 });
    for (const id of [1, 2]) batcher.add(meta(id), BYTES);
    expect(lanes.map(({ task }) => task?.kind)).toEqual(['run', 'decode']);
    lanes[1]?.finish();
    lanes[0]?.finish();
    expect(lanes[0]?.task).toMatchObject({
      kind: 'run',
      items: [{ width: 2, source: expect.any(Number) as number }],
    });
    lanes[0]?.finish();
    expect(outcomes().map(({ id }) => id)).toEqual([1, 2]);
  });

  it('runs together what came while the session was busy, up to the maximum', () => {
    const { batcher, lanes, reports } = setUp({ maxBatch: 3 });
    for (const id of [1, 2, 3, 4, 5]) batcher.add(meta(id), BYTES);
    for (let turn = 0; turn < 3; turn++) lanes[0]?.finish();
    expect(reports.map(({ batchSize }) => batchSize)).toEqual([1, 3, 1]);
  });

  it('shares what waits between sessions that become free together', () => {
    const { batcher, lanes } = setUp({ sessions: 2, maxBatch: 8 });
    for (const id of [1, 2]) batcher.add(meta(id), BYTES);
    expect(lanes.map(({ task }) => (task?.kind === 'run' ? task.items.length : 0))).toEqual([1, 1]);
  });

  it('waits for the window and no longer', () => {
    const { batcher, lanes, advance } = setUp({ mode: 'fixed' });
    batcher.add(meta(1), BYTES);
    lanes[0]?.finish();
    expect(lanes[0]?.task).toBeUndefined();
    advance(9);
    expect(lanes[0]?.task).toBeUndefined();
    advance(1);
    expect(lanes[0]?.task).toMatchObject({ kind: 'run', items: [{ width: 1 }] });
  });

  it('drops what is cancelled or expired before it is computed', () => {
    const { batcher, lanes, state, outcomes } = setUp({ decoders: 1 });
    batcher.add(meta(1), BYTES);
    batcher.add(meta(2), BYTES);
    batcher.add(meta(3), BYTES);
    batcher.add(meta(4, 50), BYTES);
    lanes[1]?.finish();
    batcher.cancel(2);
    state.now = 60;
    batcher.cancel(4711);
    lanes[0]?.finish();
    expect(outcomes()).toMatchObject([
      { id: 2, dropped: 'cancelled', stage: 'decoded' },
      { id: 4, dropped: 'expired', stage: 'undecoded' },
      { id: 1 },
    ]);
  });

  it('reports a decoding error of one item and runs the others', () => {
    const { batcher, lanes, outcomes, reports } = setUp({ decoders: 1 });
    for (const id of [1, 2, 3]) batcher.add(meta(id), BYTES);
    lanes[1]?.finish(true);
    expect(outcomes()).toMatchObject([{ id: 2, error: { code: 'invalid_image' } }]);
    lanes[0]?.finish(true);
    lanes[1]?.finish();
    lanes[0]?.finish();
    expect(outcomes()).toMatchObject([
      {},
      { id: 1, error: {} },
      { id: 3, detections: [{ bbox: [3, 0, 0, 0] }] },
    ]);
    expect(reports.map(({ batchSize }) => batchSize)).toEqual([undefined, undefined, 1]);
  });

  it('keeps to the decode budget across sessions, too', () => {
    const { batcher, lanes, outcomes } = setUp({ sessions: 4, maxDecodeBytes: 10 });
    for (const id of [100, 200, 300]) batcher.add(meta(id), BYTES);
    for (let turn = 0; turn < 3; turn++) {
      expect(lanes.filter(({ task }) => task !== undefined)).toHaveLength(1);
      lanes.find(({ task }) => task !== undefined)?.finish();
    }
    expect(outcomes()).toHaveLength(3);
  });

  it('decodes large pictures one after the other, but each of them', () => {
    const { batcher, lanes, outcomes } = setUp({ sessions: 1, decoders: 2, maxDecodeBytes: 10 });
    for (const id of [100, 200, 300]) batcher.add(meta(id), BYTES);
    for (let turn = 0; turn < 3; turn++) {
      expect(lanes.filter(({ task }) => task !== undefined)).toHaveLength(1);
      lanes.find(({ task }) => task !== undefined)?.finish();
    }
    expect(outcomes()).toHaveLength(3);
  });

  it('reports every item exactly once and with its own result, in any order of events', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), time: fc.nat(30) }) },
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('finish' as const), lane: fc.nat(2) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), lane: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), id: fc.nat(30) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(15) }) },
    );
    const mode = fc.constantFrom('adaptive' as const, 'fixed' as const, 'off' as const);
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        mode,
        fc.nat(2),
        (steps, batching, decoders) => {
          const { batcher, lanes, advance, outcomes, state } = setUp({
            sessions: 3 - decoders,
            decoders,
            mode: batching,
          });
          let added = 0;
          for (const one of steps) {
            if (one.kind === 'add') batcher.add(meta(++added, one.time + 1), BYTES);
            else if (one.kind === 'cancel') batcher.cancel(one.id);
            else if (one.kind === 'wait') advance(one.ms);
            else lanes[one.lane]?.finish(one.kind === 'fail');
          }
          for (let turn = 0; batcher.size > 0 && turn < 1000; turn++) {
            for (const lane of lanes) lane.finish();
            advance(10);
          }
          const ids = outcomes().map(({ id }) => id);
          expect(ids.toSorted((a, b) => a - b)).toEqual(
            Array.from({ length: added }, (_, i) => i + 1),
          );
          for (const outcome of outcomes()) {
            if ('detections' in outcome) expect(outcome.detections[0]?.bbox[0]).toBe(outcome.id);
          }
          expect(state.released).toBe(added);
        },
      ),
      { numRuns: 500 },
    );
  });
});
