import type { EngineConfig } from '../engine/messages.js';
import { bucketFor } from './buckets.js';
import { HelperLane } from './helper-lane.js';
import { HelperPool } from './helper-pool.js';
import type { Lane } from './lane-messages.js';
import type {
  HelperAnswer,
  HelperTask,
  HelperThreadConfig,
  SessionAnswer,
  SessionTask,
  SessionThreadConfig,
} from './pipeline-messages.js';
import { PipelinedLane } from './pipelined-lane.js';
import { PixelPool } from './pixel-pool.js';
import { WorkerLane } from './worker-lane.js';
import { type ThreadReady, WorkerThread } from './worker-thread.js';

export interface StartedLanes extends Pick<ThreadReady, 'provider' | 'placement'> {
  readonly lanes: readonly Lane[];
  /** The largest batch that may run: what is planned, or what fits into memory. */
  readonly maxBatch: number;
}

/**
 * The threads of an engine, warmed up.
 * @param slots room for the decoded pictures of `config.maxItems` items
 * @param onDeath one of them is gone; nothing it held can be trusted any more
 */
export async function startLanes(
  config: EngineConfig,
  slots: SharedArrayBuffer,
  onDeath: (reason: string) => void,
): Promise<StartedLanes> {
  const { lanes, start } = config.isPipelined
    ? pipelined(config, slots, onDeath)
    : plain(config, slots, onDeath);
  const started = await start();
  const ceiling = Math.min(...started.map((one) => one.ceiling ?? Infinity));
  const maxBatch = Math.min(config.plan.maxBatch, ceiling);
  const { provider = 'none', placement } = started[0] ?? {};
  return { lanes, provider, maxBatch, ...(placement !== undefined && { placement }) };
}

interface Lanes {
  readonly lanes: readonly Lane[];
  readonly start: () => Promise<readonly ThreadReady[]>;
}

/** Every thread decodes and, if it has a session, runs what it has decoded. */
function plain(
  engine: EngineConfig,
  slots: SharedArrayBuffer,
  onDeath: (reason: string) => void,
): Lanes {
  const { sessions, wideThreads } = engine.plan;
  const lanes = Array.from({ length: sessions + engine.decodeLanes }, (_, index) => {
    const hasSession = index < sessions;
    const blocksLoaders = index === 0;
    const hasWide = index === 0 && wideThreads > 0;
    return new WorkerLane({ engine, hasSession, hasWide, slots, blocksLoaders }, onDeath);
  });
  return { lanes, start: () => Promise.all(lanes.map((lane) => lane.start())) };
}

/**
 * Threads with a session only run; others do everything else. One of those never decodes, so that
 * a session need not wait for a batch, nor a batch for its answer, until a picture is decoded.
 */
function pipelined(
  engine: EngineConfig,
  slots: SharedArrayBuffer,
  onDeath: (reason: string) => void,
): Lanes {
  const sessions = Array.from({ length: engine.plan.sessions }, () => {
    const config: SessionThreadConfig = { engine };
    return new WorkerThread<SessionTask, SessionAnswer>('session', config, onDeath);
  });
  const helpers = Array.from({ length: 1 + Math.max(1, engine.decodeLanes) }, (_, index) => {
    const config: HelperThreadConfig = { engine, slots, blocksLoaders: index === 0 };
    return new WorkerThread<HelperTask, HelperAnswer>('helper', config, onDeath);
  });
  const pool = new HelperPool(helpers);
  const { width, height } = engine.input;
  const pixels = new PixelPool(
    bucketFor(engine.plan.maxBatch, engine.buckets) * width * height * 3,
  );
  const lanes = [
    ...sessions.map((session) => new PipelinedLane(session, pool, pixels, engine.buckets)),
    ...helpers.slice(1).map((helper) => new HelperLane(pool, helper)),
  ];
  return { lanes, start: () => Promise.all([...sessions, ...helpers].map((one) => one.start())) };
}
