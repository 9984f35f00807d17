import { describe, expect, it } from 'vitest';
import { BYTES, meta, setUp } from '../helpers/fake-lane.js';

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
    expect(reports.map(({ batch }) => batch?.size)).toEqual([1, 3, 1]);
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

  it('drops what was cancelled before it came, and nothing that comes after it', () => {
    const { batcher, lanes, state, outcomes } = setUp({});
    batcher.cancel(2);
    for (const id of [1, 2, 3]) batcher.add(meta(id), BYTES);
    expect(outcomes()).toMatchObject([{ id: 2, dropped: 'cancelled', stage: 'undecoded' }]);
    for (let turn = 0; turn < 2; turn++) lanes[0]?.finish();
    expect(outcomes().map(({ id }) => id)).toEqual([2, 1, 3]);
    expect([batcher.size, state.released]).toEqual([0, 3]);
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
    expect(reports.map(({ batch }) => batch?.size)).toEqual([undefined, undefined, 1]);
  });

  it('gives a lone item to the wide session, and starts nothing beside it', () => {
    const curve = [{ batch: 1, ms: 18 }];
    const wideCurve = [{ batch: 1, ms: 9 }];
    const { batcher, lanes, reports } = setUp({ sessions: 2, curve, wideCurve });
    batcher.add(meta(1), BYTES);
    batcher.add(meta(2), BYTES);
    expect(lanes[0]?.task).toMatchObject({ kind: 'run', session: 'wide', items: [{ width: 1 }] });
    expect(lanes[1]?.task).toBeUndefined();
    lanes[0]?.finish();
    for (const id of [3, 4, 5]) batcher.add(meta(id), BYTES);
    for (const lane of lanes) lane.finish();
    expect(reports.map(({ batch }) => batch?.session)).toEqual(['wide', 'wide', 'narrow']);
    expect(reports.flatMap(({ items }) => items).length + batcher.size).toBe(5);
  });

  it('runs background items last, and interactive ones as soon as they come', () => {
    const { batcher, lanes, outcomes } = setUp({ maxBatch: 1 });
    for (const id of [1, 2, 3]) batcher.add(meta(id, 1000, true), BYTES);
    for (const id of [4, 5]) batcher.add(meta(id), BYTES);
    for (let turn = 0; turn < 5; turn++) lanes[0]?.finish();
    expect(outcomes().map(({ id }) => id)).toEqual([1, 4, 5, 2, 3]);
  });

  it('does not take a backlog for a crowd: where batches gain nothing, items still run one by one', () => {
    const curve = [1, 2].map((batch) => ({ batch, ms: 18 * batch }));
    const { batcher, lanes, state, reports } = setUp({ maxBatch: 2, curve });
    for (let id = 101; id <= 160; id++) batcher.add(meta(id, 1e9, true), BYTES);
    for (let id = 1; id <= 50; id += 2) {
      for (const one of [id, id + 1]) batcher.add(meta(one, 1e9), BYTES);
      while (!reports.some(({ items }) => items.some((item) => item.id === id + 1))) {
        const { task } = lanes[0] as (typeof lanes)[0];
        state.now += 19 * (task?.kind === 'run' ? task.items.length : 0);
        lanes[0]?.finish();
      }
    }
    const interactive = reports.filter(({ items }) => items.some(({ id }) => id <= 50));
    expect(interactive.map(({ batch }) => batch?.size)).toEqual(Array(50).fill(1));
  });

  it('takes items of tenants with little in work first', () => {
    const { batcher, lanes, outcomes } = setUp({ maxBatch: 1 });
    for (const [id, rank] of [
      [1, 0],
      [2, 1],
      [3, 2],
      [4, 0],
      [5, 1],
    ] as const) {
      batcher.add(meta(id, 1000, false, rank), BYTES);
    }
    for (let turn = 0; turn < 5; turn++) lanes[0]?.finish();
    expect(outcomes().map(({ id }) => id)).toEqual([1, 4, 2, 5, 3]);
  });

  it('remembers what did not fit into memory', () => {
    const { batcher, lanes, reports } = setUp({ maxBatch: 8 });
    for (let id = 1; id <= 12; id++) batcher.add(meta(id), BYTES);
    lanes[0]?.finish();
    lanes[0]?.finish(false, 2);
    for (let turn = 0; turn < 5; turn++) lanes[0]?.finish();
    expect(reports.map(({ batch }) => batch?.size)).toEqual([1, 8, 2, 1]);
    expect(reports[1]?.batch).toMatchObject({ ceiling: 2 });
  });

  it('says what a lane works on', () => {
    const { batcher, lanes } = setUp({ sessions: 2 });
    for (const id of [1, 2]) batcher.add(meta(id), BYTES);
    expect(lanes.map((lane) => batcher.idsIn(lane))).toEqual([[1], [2]]);
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
});
