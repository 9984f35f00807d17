import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from '../load/load-result.js';
import { ConfigError } from '../config/load.js';
import { type Candidate, flagsOf } from './candidate.js';
import { CandidateServer } from './candidate-server.js';
import { Children } from './children.js';
import { type LoadJob, LoadGenerator, type Photos } from './load-generator.js';
import type { StartedServer, TunerHost } from './tuner.js';

/** Real servers on this machine, one at a time, and a real load. */
export class LocalHost implements TunerHost {
  readonly #children = new Children();
  /** For a config file that says nothing and measurements that nobody else has made. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-tune-'));
  readonly #model: readonly string[];
  readonly #photos: Photos;
  #generator: LoadGenerator | undefined;

  constructor(model: string | undefined, photos: Photos) {
    this.#model = model === undefined ? [] : [model];
    this.#photos = photos;
    writeFileSync(this.#emptyConfig(), '{}\n');
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
        ...['--config', this.#emptyConfig(), '--cache-dir', join(this.#folder, 'cache')],
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
    return {
      url: server.url,
      plan: only.plan,
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

  #emptyConfig(): string {
    return join(this.#folder, 'empty.json');
  }
}
