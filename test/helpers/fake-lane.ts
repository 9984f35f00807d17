import type { BatchingMode, ItemMeta, ItemOutcome, Results } from '../../src/engine/messages.js';
import { Batcher } from '../../src/engine-process/batcher.js';
import type { Lane, LaneAnswer, LaneTask } from '../../src/engine-process/lane-messages.js';
import { reportText } from '../../src/engine-process/report.js';
import type { Curve } from '../../src/planning/curve.js';
import { fakePipeline } from './fake-pipeline.js';

/** A lane that keeps its task until it is told to finish it. */
export class FakeLane implements Lane {
  readonly hasSession: boolean;
  readonly hasWide: boolean;
  readonly canDecode = true;
  readonly canStage = false;
  readonly busySince = undefined;
  task: LaneTask | undefined;
  #onAnswer: ((answer: LaneAnswer) => void) | undefined;

  constructor(hasSession: boolean, hasWide: boolean) {
    this.hasSession = hasSession;
    this.hasWide = hasWide;
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
  finish(decodeError = false, ceiling?: number): void {
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
      const found = JSON.stringify([{ label: 'x', confidence: 1, bbox: [width, 0, 0, 0] }]);
      return { decodeMs: isEncoded ? 1 : 0, result: isEncoded && decodeError ? error : found };
    });
    const batchSize = results.filter(({ result }) => typeof result === 'string').length;
    const ran = { kind: 'ran', batchSize, inferMs: 5, postMs: 1, results } as const;
    this.#onAnswer?.(ceiling === undefined ? ran : { ...ran, ceiling });
  }
}

interface SetUp {
  sessions?: number;
  decoders?: number;
  mode?: BatchingMode;
  maxBatch?: number;
  maxItems?: number;
  maxDecodeBytes?: number;
  curve?: Curve;
  wideCurve?: Curve;
}

/** A batcher on lanes that are told when to finish. */
export function setUp(wanted: SetUp) {
  const { sessions = 1, decoders = 0, wideCurve = [] } = wanted;
  const lanes = Array.from(
    { length: sessions + decoders },
    (_, index) => new FakeLane(index < sessions, index === 0 && wideCurve.length > 0),
  );
  return { lanes, ...batcherOn(lanes, wanted, false) };
}

/** The same on the lanes of a pipelined engine, whose threads are told when to finish. */
export function setUpPipeline(wanted: SetUp) {
  const { sessions = 1, decoders = 1, maxBatch = 4, maxItems = 64 } = wanted;
  const fakes = fakePipeline(sessions, decoders, maxBatch, maxItems);
  return { ...fakes, ...batcherOn(fakes.lanes, wanted, true) };
}

function batcherOn(
  lanes: readonly Lane[],
  {
    sessions = 1,
    mode = 'adaptive',
    maxBatch = 4,
    maxItems = 64,
    maxDecodeBytes = 1e9,
    curve = [],
    wideCurve = [],
  }: SetUp,
  isPipelined: boolean,
) {
  const state = { now: 0, timers: new Map<() => void, number>(), released: 0 };
  const reports: Results[] = [];
  const plan = { sessions, threads: 1, maxBatch, wideThreads: wideCurve.length > 0 ? 2 : 0 };
  const batcher = new Batcher(
    {
      plan,
      curve,
      wideCurve,
      buckets: [],
      isPipelined,
      batching: mode,
      windowMs: 10,
      maxItems,
      maxDecodeBytes,
    },
    {
      lanes,
      now: () => state.now,
      after: (ms, callback) => {
        state.timers.set(callback, state.now + ms);
        return () => state.timers.delete(callback);
      },
      report: (report) => reports.push(JSON.parse(reportText(report)) as Results),
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
  return { batcher, reports, state, advance, outcomes };
}

export const meta = (id: number, timeLeftMs = 1000, isBackground = false, rank = 0): ItemMeta => ({
  id,
  isBackground,
  rank,
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
export const BYTES = new Uint8Array(1);
