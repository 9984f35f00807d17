import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { LoadResult } from '../load/load-result.js';
import { ConfigError } from '../config/load.js';
import { type Candidate, flagsOf } from './candidate.js';
import { CandidateServer } from './candidate-server.js';
import { Children } from './children.js';
import { type LoadJob, LoadGenerator, type Photos } from './load-generator.js';
import type { StartedServer, TunerHost } from './tuner.js';

export interface LocalHostOptions {
  readonly model: string | undefined;
  /** As for `shoal serve`. */
  readonly device: string;
  /** What is installed for GPUs in the real cache folder, where it is. */
  readonly libraries: readonly string[];
}

/** Real servers on this machine, one at a time, and a real load. */
export class LocalHost implements TunerHost {
  readonly #children = new Children();
  /** For a config file that says nothing and measurements that nobody else has made. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-tune-'));
  readonly #model: readonly string[];
  readonly #photos: Photos;
  #device: string;
  #generator: LoadGenerator | undefined;

  constructor({ model, device, libraries }: LocalHostOptions, photos: Photos) {
    this.#model = model === undefined ? [] : [model];
    this.#device = device;
    this.#photos = photos;
    writeFileSync(this.#emptyConfig(), '{}\n');
    mkdirSync(this.#cache());
    for (const path of libraries.filter((one) => existsSync(one))) {
      symlinkSync(path, join(this.#cache(), basename(path)));
    }
  }

  /**
   * Servers of the search do without a profile, which takes a second to make. In the final rounds
   * they are what an operator gets who sets these values and nothing else, and so is auto always.
   */
  async start(candidate: Candidate, isFinal: boolean): Promise<StartedServer> {
    const isMeasured = isFinal || candidate.settings.sessions === undefined;
    const server = await CandidateServer.start(
      [
        ...this.#model,
        ...['--config', this.#emptyConfig(), '--cache-dir', this.#cache()],
        ...['--device', this.#device],
        ...(isMeasured ? [] : ['--profile', 'off']),
        ...flagsOf(candidate),
      ],
      this.#children,
    );
    const models = await server.models();
    const [only] = models;
    if (only === undefined || models.length > 1) {
      const names = models.map(({ name }) => name).join(', ');
      throw new ConfigError(`give the path of one model; there are ${names}`);
    }
    // Whatever is measured after this one shall run on the same.
    this.#device = only.device;
    return {
      url: server.url,
      plan: only.plan,
      device: only.device,
      memoryBytes: () => server.memoryBytes(),
      stop: () => server.stop(),
    };
  }

  async load(job: LoadJob): Promise<LoadResult> {
    this.#generator ??= await LoadGenerator.start(this.#photos, this.#children);
    return this.#generator.run(job);
  }

  now(): number {
    return performance.now();
  }

  /** Ends everything at once; what was waited for fails. */
  kill(): void {
    this.#children.killAll();
  }

  close(): void {
    this.#children.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #cache(): string {
    return join(this.#folder, 'cache');
  }

  #emptyConfig(): string {
    return join(this.#folder, 'empty.json');
  }
}
