import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineLink } from '../../src/engine/engine-link.js';
import type { EngineConfig, ItemOutcome, Ready, Results } from '../../src/engine/messages.js';
import { inspectImage } from '../../src/image/inspect.js';
import { until } from './server.js';

/** A built engine as a real process, with a stub model and without a server. */
export class TestEngine {
  readonly results: Results[] = [];
  readonly stuck: (readonly number[])[] = [];
  ready: Ready | undefined;
  /** Why it ended. */
  ended: string | undefined;
  readonly #link: EngineLink;

  private constructor(config: EngineConfig) {
    this.#link = new EngineLink(config, {
      onReady: (ready) => (this.ready = ready),
      onResults: (results) => this.results.push(results),
      onPong: () => undefined,
      onStuck: ({ ids }) => this.stuck.push(ids),
      onEnd: (reason) => (this.ended = reason),
    });
  }

  static async start(
    model: Record<string, unknown>,
    wanted: Partial<EngineConfig> = {},
  ): Promise<TestEngine> {
    const modelPath = join(mkdtempSync(join(tmpdir(), 'shoal-engine-')), 'model.onnx');
    writeFileSync(modelPath, JSON.stringify(model));
    const engine = new TestEngine({ ...BASE, modelPath, ...wanted });
    await until(() => engine.ready !== undefined || engine.ended !== undefined);
    return engine;
  }

  send(id: number, image: Buffer, timeLeftMs = 60_000): void {
    const about = { threshold: 0.5, timeLeftMs, isBackground: false, rank: 1 };
    this.#link.sendItem({ id, image: inspectImage(image), ...about }, [image]);
  }

  cancel(id: number): void {
    this.#link.sendCancel(id);
  }

  get outcomes(): ItemOutcome[] {
    return this.results.flatMap(({ items }) => items);
  }

  /** What became of the items, by their ids, when that is known of this many. */
  async answers(count: number): Promise<Map<number, ItemOutcome>> {
    await until(() => this.outcomes.length >= count || this.ended !== undefined);
    return new Map(this.outcomes.map((outcome) => [outcome.id, outcome]));
  }

  stop(): void {
    this.#link.kill();
  }
}

const BASE: Omit<EngineConfig, 'modelPath'> = {
  runtime: 'stub',
  device: { name: 'cpu', index: 0 },
  cacheFolder: '',
  countsNodes: false,
  head: 'ssd',
  labels: ['thing'],
  input: { width: 8, height: 8 },
  plan: { sessions: 1, threads: 1, maxBatch: 4, wideThreads: 0 },
  curve: [],
  wideCurve: [],
  warmBatches: [1, 4],
  warmUpMs: 2000,
  buckets: [],
  isPipelined: true,
  decodeLanes: 2,
  batching: 'adaptive',
  windowMs: 10,
  maxItems: 64,
  maxPixels: 1e9,
  maxDecodeBytes: 1e9,
  hangTimeoutMs: 60_000,
};
