import { describe, expect, it } from 'vitest';
import { BYTES, meta, setUpPipeline } from '../helpers/fake-lane.js';

type Fakes = ReturnType<typeof setUpPipeline>;

/** Lets the helpers do all there is for them, and no session anything. */
function help({ helpers }: Fakes): void {
  while (helpers.some(({ isIdle }) => !isIdle)) for (const helper of helpers) helper.finish();
}

function add({ batcher }: Fakes, from: number, to: number, height = 1): void {
  for (let id = from; id <= to; id++) {
    const { image, ...others } = meta(id);
    batcher.add({ ...others, image: { ...image, height } }, BYTES);
  }
}
/** With it, no picture is a small one. */
const TALL = 2 ** 21;

const sizes = ({ reports }: Fakes): unknown[] => reports.map(({ batch }) => batch?.size);
const kinds = ({ helpers }: Fakes): unknown[] => helpers.map(({ tasks }) => tasks[0]?.kind);

describe('Batcher on pipelined lanes', () => {
  it('takes an item through decoding, packing, running and finishing', () => {
    const fakes = setUpPipeline({});
    const { batcher, helpers, sessions, state, outcomes } = fakes;
    batcher.add(meta(7), BYTES);
    for (const kind of ['decode', 'pack']) {
      expect(kinds(fakes)).toEqual([kind]);
      expect(sessions[0]?.isIdle).toBe(true);
      helpers[0]?.finish();
    }
    expect(sessions[0]?.tasks).toMatchObject([{ kind: 'run', count: 1 }]);
    sessions[0]?.finish();
    expect(kinds(fakes)).toEqual(['finish']);
    expect(outcomes()).toEqual([]);
    helpers[0]?.finish();
    expect(outcomes()).toMatchObject([
      { id: 7, detections: [{ bbox: [7, 0, 0, 0] }], timings: { decodeMs: 1, inferMs: 5 } },
    ]);
    expect([batcher.size, state.released]).toEqual([0, 1]);
  });

  it('stages a full batch behind the one that runs, and no smaller one', () => {
    const fakes = setUpPipeline({ maxBatch: 3 });
    const [session] = fakes.sessions;
    add(fakes, 1, 1);
    help(fakes);
    add(fakes, 2, 3);
    help(fakes);
    expect(session?.tasks).toHaveLength(1);
    add(fakes, 4, 9);
    help(fakes);
    // One runs and one is staged; the rest waits, though it would be full.
    expect(session?.tasks).toMatchObject([{ count: 1 }, { count: 3 }]);
    session?.finish();
    help(fakes);
    expect(session?.tasks).toMatchObject([{ count: 3 }, { count: 3 }]);
    session?.finish();
    session?.finish();
    help(fakes);
    session?.finish();
    help(fakes);
    expect(sizes(fakes)).toEqual([1, 3, 3, 2]);
  });

  it('has a second session join the first with half a batch, or a full one if decoding is late', () => {
    const held = ({ sessions }: Fakes): unknown[] =>
      sessions.map(({ tasks }) => tasks.map((task) => ('count' in task ? task.count : 0)));
    const fakes = setUpPipeline({ sessions: 2, maxBatch: 4 });
    add(fakes, 1, 1);
    help(fakes);
    add(fakes, 2, 2);
    help(fakes);
    expect(held(fakes)).toEqual([[1], []]);
    add(fakes, 3, 3);
    help(fakes);
    expect(held(fakes)).toEqual([[1], [2]]);
    for (const session of fakes.sessions) session.finish();
    add(fakes, 4, 4);
    help(fakes);
    // The device is free, so what is there runs.
    expect(held(fakes)).toEqual([[1], []]);

    const late = setUpPipeline({ sessions: 2, maxBatch: 4 });
    add(late, 1, 1);
    help(late);
    add(late, 2, 9);
    help(late);
    expect(held(late)).toEqual([[1, 4], [4]]);
  });

  it('learns from batches of two sessions only while both are at work', () => {
    const curve = [1, 2].map((batch) => ({ batch, ms: 10 }));
    const fakes = setUpPipeline({ sessions: 2, maxBatch: 2, curve });
    add(fakes, 1, 1);
    help(fakes);
    fakes.sessions[0]?.finish();
    help(fakes);
    expect(fakes.batcher.drift).toBe(1);
    add(fakes, 2, 6);
    help(fakes);
    fakes.sessions[1]?.finish();
    help(fakes);
    // It took 5 ms instead of 10.
    expect(fakes.batcher.drift).toBeCloseTo(0.95);
  });

  it('gives slots back when they are packed, so that decoding goes on', () => {
    const fakes = setUpPipeline({ maxBatch: 2, maxItems: 2 });
    add(fakes, 1, 6);
    help(fakes);
    // Two slots, and yet the first is running, the next two are staged and two more are decoded.
    expect(fakes.sessions[0]?.tasks).toMatchObject([{ count: 1 }, { count: 2 }]);
    expect(fakes.state.released).toBe(5);
  });

  it('gives a helper its next picture while it decodes a small one', () => {
    const fakes = setUpPipeline({ decoders: 2 });
    const held = (): unknown[] => fakes.helpers.map(({ tasks }) => tasks.length);
    add(fakes, 1, 2);
    expect(held()).toEqual([1, 1]);
    add(fakes, 3, 5);
    expect(held()).toEqual([2, 2]);
    expect(fakes.batcher.idsIn(fakes.lanes[1] as (typeof fakes.lanes)[0])).toEqual([1]);
    fakes.helpers[0]?.finish();
    expect(held()).toEqual([2, 2]);
  });

  it('lets no picture wait behind a large one', () => {
    const fakes = setUpPipeline({ decoders: 2 });
    add(fakes, 1, 1, TALL);
    add(fakes, 2, 2);
    add(fakes, 3, 6);
    expect(fakes.helpers.map(({ tasks }) => tasks.length)).toEqual([1, 2]);
  });

  it('finishes before it packs, and packs before it decodes', () => {
    const fakes = setUpPipeline({ maxBatch: 2 });
    add(fakes, 1, 1);
    help(fakes);
    add(fakes, 2, 4, TALL);
    const [helper] = fakes.helpers;
    helper?.finish();
    helper?.finish();
    expect(kinds(fakes)).toEqual(['pack']);
    fakes.sessions[0]?.finish();
    helper?.finish();
    expect(kinds(fakes)).toEqual(['finish']);
    helper?.finish();
    expect(kinds(fakes)).toEqual(['decode']);
  });

  it('counts what the session was busy with, not how long a batch was staged', () => {
    const curve = [1, 2].map((batch) => ({ batch, ms: 5 }));
    const fakes = setUpPipeline({ maxBatch: 2, curve });
    add(fakes, 1, 1);
    help(fakes);
    add(fakes, 2, 3);
    help(fakes);
    fakes.state.now = 500;
    for (const session of [...fakes.sessions, ...fakes.sessions]) session.finish();
    help(fakes);
    expect(fakes.reports.map(({ batch }) => batch)).toMatchObject([
      { size: 1, laneMs: 5 },
      { size: 2, laneMs: 5 },
    ]);
    expect(fakes.batcher.drift).toBe(1);
  });

  it('blames those that run for a session that hangs, not those that are staged', () => {
    const fakes = setUpPipeline({ maxBatch: 2 });
    const { batcher, lanes, sessions } = fakes;
    add(fakes, 1, 3);
    help(fakes);
    expect(sessions[0]?.tasks).toHaveLength(2);
    expect(batcher.idsIn(lanes[0] as (typeof lanes)[0])).toEqual([1]);
    sessions[0]?.finish();
    expect(batcher.idsIn(lanes[0] as (typeof lanes)[0])).toEqual([2, 3]);
  });

  it('names the picture that a helper decodes', () => {
    const fakes = setUpPipeline({});
    add(fakes, 1, 2);
    expect(fakes.batcher.idsIn(fakes.lanes[1] as (typeof fakes.lanes)[0])).toEqual([1]);
  });

  it('runs what is staged even if it is cancelled, and drops what waits', () => {
    const fakes = setUpPipeline({ maxBatch: 2 });
    add(fakes, 1, 4);
    help(fakes);
    for (const id of [2, 4]) fakes.batcher.cancel(id);
    expect(fakes.outcomes()).toMatchObject([{ id: 4, dropped: 'cancelled', stage: 'decoded' }]);
    for (let turn = 0; turn < 2; turn++) {
      fakes.sessions[0]?.finish();
      help(fakes);
    }
    expect(fakes.outcomes().map(({ id }) => id)).toEqual([4, 1, 2, 3]);
    expect(sizes(fakes)).toEqual([undefined, 1, 2]);
  });

  it('remembers what did not fit into memory', () => {
    const fakes = setUpPipeline({ maxBatch: 4 });
    add(fakes, 1, 11);
    help(fakes);
    fakes.sessions[0]?.finish();
    fakes.sessions[0]?.finish(false, 2);
    for (let turn = 0; turn < 5; turn++) {
      help(fakes);
      fakes.sessions[0]?.finish();
    }
    help(fakes);
    expect(sizes(fakes)).toEqual([1, 4, 4, 2]);
    expect(fakes.reports[1]?.batch).toMatchObject({ ceiling: 2 });
  });

  it('reports a picture that cannot be decoded and one that fails, each alone', () => {
    const fakes = setUpPipeline({ maxBatch: 2 });
    add(fakes, 1, 2);
    fakes.helpers[0]?.finish(true);
    help(fakes);
    fakes.sessions[0]?.finish(true);
    help(fakes);
    expect(fakes.outcomes()).toMatchObject([
      { id: 1, error: { code: 'invalid_image' } },
      { id: 2, error: { code: 'model_failed' } },
    ]);
  });
});
