import { type Environment, readEnvironment } from '../config/environment.js';
import { findOnPath, startLines } from './line-process.js';
import { DRM_FOLDER, readAmdGpus } from './memory-amd.js';
import { type FeedHost, MemoryFeed } from './memory-feed.js';
import {
  GPU_QUERY,
  type GpuReading,
  parseGpuLine,
  parseProcessLine,
  PROCESS_QUERY,
  type ProcessReading,
} from './memory-reading.js';

export interface SourceHost extends FeedHost {
  readonly environment: Environment;
  /** Whether there is an `nvidia-smi` to start. */
  readonly hasNvidiaTool: boolean;
  readAmd(): Promise<readonly GpuReading[]>;
}

export const READ_MS = 1000;
/** What is older than this is not believed. */
export const STALE_MS = 5 * READ_MS;
/** A tool that says nothing for so long is ended. */
const SILENT_MS = 2 * STALE_MS;
const PROCESS_READ_MS = 5000;
const PROCESS_STALE_MS = 3 * PROCESS_READ_MS;
/** Of what a tool says instead of a reading. */
const MAX_WORDS = 200;

interface Known<Reading> {
  readonly reading: Reading;
  readonly at: number;
}

/** What GPUs and their processes said last, and when. */
export class MemorySources {
  readonly #host: SourceHost;
  readonly #onReading: () => void;
  readonly #feeds: readonly MemoryFeed[];
  readonly #gpus = new Map<string, Known<GpuReading>>();
  readonly #processes = new Map<string, Known<ProcessReading>>();
  #isReadingAmd = false;
  #words: string | undefined;

  constructor(host: SourceHost, onReading: () => void) {
    this.#host = host;
    this.#onReading = onReading;
    const every = (ms: number): string[] => ['-lms', String(ms)];
    this.#feeds = !host.hasNvidiaTool
      ? []
      : [
          new MemoryFeed([...GPU_QUERY, ...every(READ_MS)], SILENT_MS, host, (line) => {
            this.#noteGpu(line);
          }),
          // With no process on any GPU it says nothing at all.
          new MemoryFeed([...PROCESS_QUERY, ...every(PROCESS_READ_MS)], Infinity, host, (line) => {
            const reading = parseProcessLine(line);
            if (reading === undefined) return;
            const { pid, uuid } = reading;
            this.#processes.set(`${String(pid)} ${uuid}`, { reading, at: host.now() });
          }),
        ];
  }

  /** Everything that was ever read, in the order of indexes. */
  get known(): readonly GpuReading[] {
    return [...this.#gpus.values()]
      .map(({ reading }) => reading)
      .sort((one, other) => one.index - other.index);
  }

  /** What the tool said last that was no reading; it may say why there is none. */
  get lastWords(): string | undefined {
    return this.#words;
  }

  /** Whether anybody says anything at all. */
  get hasFresh(): boolean {
    return this.known.some((gpu) => this.isFresh(gpu));
  }

  isFresh(gpu: GpuReading): boolean {
    const known = this.#gpus.get(keyOf(gpu));
    return known !== undefined && this.#host.now() - known.at <= STALE_MS;
  }

  /** What processes hold, on one GPU or on all; `undefined` where nobody says so. */
  memoryOf(pids: readonly number[], uuid?: string): number | undefined {
    const found = [...this.#processes.values()].filter(
      ({ reading, at }) =>
        pids.includes(reading.pid) &&
        (uuid === undefined || reading.uuid === uuid) &&
        this.#host.now() - at <= PROCESS_STALE_MS,
    );
    if (found.length === 0) return undefined;
    return found.reduce((sum, { reading }) => sum + reading.bytes, 0);
  }

  /** To be called about once a second. Never waits for anything. */
  tick(): void {
    for (const feed of this.#feeds) feed.tick();
    void this.#readAmd();
    for (const [key, { at }] of this.#processes) {
      if (this.#host.now() - at > PROCESS_STALE_MS) this.#processes.delete(key);
    }
  }

  stop(): void {
    for (const feed of this.#feeds) feed.stop();
  }

  #noteGpu(line: string): void {
    const reading = parseGpuLine(line);
    if (reading !== undefined) this.#note(reading);
    else if (line.trim() !== '') this.#words = line.trim().slice(0, MAX_WORDS);
  }

  #note(reading: GpuReading): void {
    this.#gpus.set(keyOf(reading), { reading, at: this.#host.now() });
    this.#onReading();
  }

  /** One at a time: a card that is stuck holds up nobody but itself. */
  async #readAmd(): Promise<void> {
    if (this.#isReadingAmd) return;
    this.#isReadingAmd = true;
    for (const reading of await this.#host.readAmd()) this.#note(reading);
    this.#isReadingAmd = false;
  }
}

export function keyOf({ vendor, index }: GpuReading): string {
  return `${vendor} ${String(index)}`;
}

export function thisSourceHost(): SourceHost {
  const environment = readEnvironment();
  const tool = findOnPath('nvidia-smi', environment);
  return {
    environment,
    hasNvidiaTool: tool !== undefined,
    now: () => performance.now(),
    start: (args, events) => startLines(tool ?? '', args, events),
    readAmd: () => readAmdGpus(DRM_FOLDER),
  };
}
