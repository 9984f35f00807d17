import type { Refusal } from '../admission/gate.js';
import type { Device } from '../config/devices.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import {
  describeFull,
  type GpuState,
  logChange,
  setGpuGauges,
  whyUnknown,
} from './memory-report.js';
import { gpuOf, gpusInUse, type GpuUser, isOnGpu } from './memory-place.js';
import { isMemoryHigh, usedShare } from './memory-pressure.js';
import {
  keyOf,
  MemorySources,
  READ_MS,
  type SourceHost,
  STALE_MS,
  thisSourceHost,
} from './memory-sources.js';

/** A model whose gate can be closed. */
export interface WatchedModel extends GpuUser {
  readonly gate: { close(refusal: Refusal | undefined): void };
  /** It has a seat for each device, in the same order. */
  readonly engine: {
    readonly seats: readonly { readonly pid: number | undefined }[];
    avoid(seats: readonly number[]): void;
  };
}

/** Memory on a GPU comes back in seconds, not in milliseconds. */
const RETRY_AFTER_SECONDS = 5;

const REFUSAL: Refusal = {
  code: 'gpu_memory_high',
  detail: 'The GPU has almost no memory left; requests are taken again when some is free.',
  retryAfterSeconds: RETRY_AFTER_SECONDS,
};

/**
 * Watches the memory of the GPUs that models run on, and closes the gates of models when there is
 * too little left. Starts nothing where no model runs on a GPU.
 */
export class GpuMonitor {
  readonly #high: number;
  readonly #telemetry: Telemetry;
  readonly #host: SourceHost;
  readonly #sources: MemorySources;
  /** Keys of the GPUs whose memory counts as full. */
  readonly #full = new Set<string>();
  #models: readonly WatchedModel[] = [];
  #startedAt = 0;
  #isBlind = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param high the share of its memory above which a GPU counts as full; 1 for never */
  constructor(high: number, telemetry: Telemetry, host: SourceHost = thisSourceHost()) {
    this.#high = high;
    this.#telemetry = telemetry;
    this.#host = host;
    this.#sources = new MemorySources(host, () => {
      this.#judge();
    });
    telemetry.metrics.onCollect(() => {
      setGpuGauges(this.gpus, telemetry.metrics);
    });
  }

  /** The models serve now. */
  start(models: readonly WatchedModel[]): void {
    if (!models.some(({ variant }) => variant.devices.some(isOnGpu))) return;
    this.#models = models;
    this.#startedAt = this.#host.now();
    this.#timer = setInterval(() => {
      this.tick();
    }, READ_MS);
    this.#timer.unref();
    this.tick();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#models = [];
    this.#sources.stop();
  }

  /** Never waits for anything. */
  tick(): void {
    this.#sources.tick();
    this.#judge();
    this.#noticeBlindness();
  }

  /** The GPUs that models run on. */
  get gpus(): readonly GpuState[] {
    const { known } = this.#sources;
    const pids = this.#models.flatMap(({ engine }) => engine.seats.map(({ pid }) => pid ?? -1));
    return gpusInUse(this.#models, known, this.#host.environment).map((gpu) => {
      const { reading } = gpu;
      return {
        ...gpu,
        ownBytes: reading && this.#sources.memoryOf(pids, reading.uuid),
        isStale: reading === undefined || !this.#sources.isFresh(reading),
        isHigh: reading !== undefined && this.#full.has(keyOf(reading)),
      };
    });
  }

  /** Which GPUs have too little memory left, for people; `undefined` when none. */
  get trouble(): string | undefined {
    const full = this.gpus.filter(({ isHigh }) => isHigh);
    if (full.length === 0) return undefined;
    return full.map((gpu) => describeFull(gpu, this.#high)).join(' ');
  }

  /** Bytes that a process holds on GPUs; `undefined` where that is not known. */
  memoryOf(pid: number): number | undefined {
    return this.#sources.memoryOf([pid]);
  }

  /** Whether this device should get no more work for now. */
  isHigh(device: Device): boolean {
    const gpu = gpuOf(device, this.#sources.known, this.#host.environment);
    return gpu !== undefined && this.#full.has(keyOf(gpu));
  }

  #judge(): void {
    for (const { reading, models, ownBytes } of this.gpus) {
      if (reading === undefined) continue;
      const key = keyOf(reading);
      const was = this.#full.has(key);
      const share = this.#sources.isFresh(reading) ? usedShare(reading) : undefined;
      const is = isMemoryHigh(was, share, this.#high);
      if (was === is) continue;
      if (is) this.#full.add(key);
      else this.#full.delete(key);
      logChange(this.#telemetry.log, is, { reading, share, models, ownBytes, high: this.#high });
    }
    for (const { variant, gate, engine } of this.#models) {
      const { devices } = variant;
      const full = devices.flatMap((device, at) => (this.isHigh(device) ? [at] : []));
      // One that has another device left goes on with that.
      engine.avoid(full);
      gate.close(full.length === devices.length ? REFUSAL : undefined);
    }
  }

  /** Once when it begins and once when it ends. */
  #noticeBlindness(): void {
    if (this.#host.now() - this.#startedAt <= STALE_MS) return;
    const unknown = this.gpus.filter(({ isStale }) => isStale).map(({ index }) => index);
    const isBlind = unknown.length > 0;
    if (isBlind === this.#isBlind) return;
    this.#isBlind = isBlind;
    const { log } = this.#telemetry;
    if (!isBlind) {
      log.info('GPU memory is known again');
      return;
    }
    const { lastWords, hasFresh } = this.#sources;
    const why = whyUnknown(hasFresh, this.#host.hasNvidiaTool);
    log.warn(
      { gpus: unknown, ...(lastWords !== undefined && { nvidia_smi: lastWords }) },
      `GPU memory is not known and not watched: ${why}`,
    );
  }
}
