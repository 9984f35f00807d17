import type { DeviceName } from '../../src/config/devices.js';
import type { ModelPrecision } from '../engine-config.js';
import type { ProcessUse } from '../threads.js';
import type { PartName } from './options.js';

export interface MachineInfo {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly node: string;
  readonly system: string;
  readonly gpus: readonly string[];
  readonly packages: Readonly<Record<string, string>>;
}

/** A loop around sessions, with nothing else. */
export interface RawRow {
  readonly device: DeviceName;
  readonly precision: ModelPrecision;
  readonly sessions: number;
  readonly threads: number;
  readonly batch: number;
  readonly perSecond: number;
  /** One batch. */
  readonly p50Ms: number;
  readonly cpuMsPerImage: number;
}

export interface DecodeRow {
  readonly threads: number;
  readonly perSecond: number;
  readonly cpuMsPerImage: number;
}

/** What the server did with one load. */
export interface ServedRow {
  readonly device: DeviceName;
  /** What was set by hand; empty for nothing. */
  readonly setting: string;
  readonly form: 'raw' | 'json';
  readonly concurrency: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanBatch: number;
  /** 429 and 503. */
  readonly refused: number;
  readonly failed: number;
  readonly generatorCores: number;
  readonly eventLoopP99Ms: number;
  readonly uses: readonly ProcessUse[];
  /** What decoding alone reached beside it, what bounds it, and its share of that. */
  readonly decode: number | null;
  readonly limit: number | null;
  readonly ratio: number | null;
}

export interface CrashRow {
  readonly device: DeviceName;
  readonly kill: number;
  /** Longest time without an answer after it. */
  readonly silenceMs: number;
  /** Until an engine with another process id was up and an answer came. */
  readonly servingAfterMs: number | null;
}

export interface CrashLoad {
  readonly device: DeviceName;
  readonly ok: number;
  readonly refused: number;
  readonly failed: number;
  readonly errors: Readonly<Record<string, number>>;
}

/** GPU memory, and whose: of this server, or of all processes. */
export interface GpuMemory {
  readonly gpuBytes: number | null;
  readonly gpuBytesOf: 'own' | 'all' | null;
}

export interface SoakRow extends GpuMemory {
  readonly device: DeviceName;
  readonly atSeconds: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly rssBytes: number;
  readonly eventLoopP99Ms: number;
}

export interface PartOutcome {
  readonly part: PartName;
  readonly outcome: 'done' | 'failed' | 'skipped';
  readonly seconds: number;
  readonly why?: string;
}

/** Everything that a run has found so far; plain JSON. */
export interface Results {
  readonly started: string;
  readonly photos: number;
  machine?: MachineInfo;
  readonly parts: PartOutcome[];
  /** What did not work inside a part that went on without it. */
  readonly failures: { readonly part: PartName; readonly what: string; readonly why: string }[];
  /** What the server says about its model, by device. */
  readonly models: Record<string, unknown>;
  readonly raw: RawRow[];
  readonly decode: DecodeRow[];
  readonly served: ServedRow[];
  readonly batch1: ServedRow[];
  readonly sweep: ServedRow[];
  readonly steps: ServedRow[];
  readonly crash: CrashRow[];
  readonly crashLoads: CrashLoad[];
  readonly soak: SoakRow[];
}

export function emptyResults(photos: number, started: string): Results {
  return {
    started,
    photos,
    parts: [],
    failures: [],
    models: {},
    raw: [],
    decode: [],
    served: [],
    batch1: [],
    sweep: [],
    steps: [],
    crash: [],
    crashLoads: [],
    soak: [],
  };
}
