import type { Config } from '../config/schema.js';
import { disagreement } from '../devices/agreement.js';
import { checkPictures } from '../devices/check-pictures.js';
import type { EngineSupervisor } from '../engine/supervisor.js';
import type { Detection } from '../heads/detection.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { Canary } from './canary.js';
import { MemoryWatch } from './memory-watch.js';

export interface CareOptions {
  readonly model: string;
  readonly config: Pick<Config, 'canary_ms' | 'engine_memory_high'>;
  readonly telemetry: Telemetry;
  /** What the CPU finds in the first check picture, where that is known. */
  readonly expected?: readonly Detection[] | undefined;
  /** Bytes that a process holds on GPUs, where that is known. */
  readonly gpuBytesOf: (pid: number) => number | undefined;
}

/** Looks after the engines of one model while they serve: whether they are right, and not too big. */
export class EngineCare {
  readonly #canary: Canary | undefined;
  readonly #intervalMs: number;
  readonly #memory: MemoryWatch;

  constructor(engine: EngineSupervisor, options: CareOptions) {
    this.#intervalMs = options.config.canary_ms;
    this.#canary = this.#intervalMs === 0 ? undefined : createCanary(engine, options);
    this.#memory = createMemoryWatch(engine, options);
  }

  start(): void {
    this.#canary?.start(this.#intervalMs);
    this.#memory.start();
  }

  stop(): void {
    this.#canary?.stop();
    this.#memory.stop();
  }
}

function createCanary(
  engine: EngineSupervisor,
  { model, telemetry, expected }: CareOptions,
): Canary | undefined {
  const [picture] = checkPictures();
  if (picture === undefined) return undefined;
  const { file: bytes, image: info } = picture;
  return new Canary(
    engine,
    { bytes, info, threshold: 0, ...(expected !== undefined && { detections: expected }) },
    {
      compare: (wanted, actual) => disagreement([wanted], [actual]),
      onVerdict: (outcome) => {
        telemetry.metrics.count('shoal_canaries_total', { model, outcome });
      },
    },
  );
}

function createMemoryWatch(
  engine: EngineSupervisor,
  { model, config, telemetry, gpuBytesOf }: CareOptions,
): MemoryWatch {
  return new MemoryWatch({
    setting: config.engine_memory_high,
    seats: () => engine.seats,
    gpuBytesOf,
    now: () => performance.now(),
    onAbove: (use, mark, reason) => {
      telemetry.metrics.count('shoal_engine_recycled_total', { model, reason });
      telemetry.log.warn(
        { model, memory_bytes: use.rssBytes, gpu_memory_bytes: use.gpuBytes, mark_bytes: mark },
        'an engine holds too much memory, another one takes over',
      );
    },
  });
}
