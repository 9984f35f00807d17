import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineConfig, ItemOutcome } from '../../src/engine/messages.js';
import { TestEngine } from '../helpers/engine.js';
import { solidPng } from '../helpers/pictures.js';
import { until } from '../helpers/server.js';

/** The stub answers with the colour it saw, so this is what the box must be. */
const picture = (red: number): Promise<Buffer> => solidPng([red, 100, 200]);
const box = (red: number) => ({ detections: [{ bbox: [red, 100, 200, 255] }] });
const BAD = 250;

describe('a pipelined engine', () => {
  let engine: TestEngine;
  afterEach(() => {
    engine.stop();
  });

  /** Sends these colours, with their places as ids. */
  async function send(reds: readonly number[]): Promise<void> {
    const images = await Promise.all(reds.map(picture));
    images.forEach((image, id) => {
      engine.send(id, image);
    });
  }

  const plan = (maxBatch: number, sessions = 1): Pick<EngineConfig, 'plan'> => ({
    plan: { sessions, threads: 1, maxBatch, wideThreads: 0 },
  });
  const ramp = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

  it.each([[[]], [[4, 16]], [[16]]])(
    'gives each of many pictures its own answer, with buckets %j',
    async (buckets) => {
      engine = await TestEngine.start({ sleep_ms: 3 }, { ...plan(16, 2), buckets });
      await send(ramp(120));
      const answers = await engine.answers(120);
      for (const red of ramp(120)) expect(answers.get(red)).toMatchObject(box(red));
      expect(engine.outcomes).toHaveLength(120);
    },
  );

  it('runs one full batch after the other when there is enough to do', async () => {
    const window = { batching: 'fixed', windowMs: 600_000 } as const;
    engine = await TestEngine.start({ sleep_ms: 20 }, { ...plan(16), ...window });
    await send(ramp(128));
    const answers = await engine.answers(128);
    for (const red of ramp(128)) expect(answers.get(red)).toMatchObject(box(red));
    expect(engine.results.map(({ batch }) => batch?.size)).toEqual(Array(8).fill(16));
  });

  it('reports a damaged picture alone', async () => {
    engine = await TestEngine.start({});
    const good = await picture(7);
    engine.send(0, good);
    engine.send(1, Buffer.concat([good.subarray(0, 60), Buffer.alloc(40)]));
    engine.send(2, good);
    const answers = await engine.answers(3);
    expect(answers.get(1)).toMatchObject({ error: { code: 'invalid_image' } });
    for (const id of [0, 2]) expect(answers.get(id)).toMatchObject(box(7));
  });

  it.each([
    ['throw_on_red', 'model_failed'],
    ['nan_on_red', 'model_output_invalid'],
  ])('fails one picture of a batch alone: %s', async (fault, code) => {
    // One bucket for all: parts of a batch are filled up with blank pictures, not with neighbours.
    engine = await TestEngine.start({ sleep_ms: 20, [fault]: BAD }, { ...plan(8), buckets: [8] });
    const reds = [1, 2, 3, BAD, 5, 6, 7, 8, 9, 10, BAD, 12];
    await send(reds);
    const answers = await engine.answers(reds.length);
    reds.forEach((red, id) => {
      const expected = red === BAD ? { error: { code } } : box(red);
      expect(answers.get(id)).toMatchObject(expected);
    });
  });

  it('halves what does not fit into memory, and remembers what did', async () => {
    const model = { sleep_ms: 20, max_images: 3, spares_black: true };
    engine = await TestEngine.start(model, plan(8));
    await send(ramp(60).map((red) => red + 1));
    const answers = await engine.answers(60);
    for (const id of ramp(60)) expect(answers.get(id)).toMatchObject(box(id + 1));
    const batches = engine.results.flatMap(({ batch }) => batch ?? []);
    expect(Math.min(...batches.flatMap(({ ceiling }) => ceiling ?? []))).toBeLessThanOrEqual(3);
    expect(batches.at(-1)?.size).toBeLessThanOrEqual(3);
  });

  it('finds out while it warms up what does not fit into memory', async () => {
    const warmBatches = [1, 2, 4, 8];
    engine = await TestEngine.start({ max_images: 5 }, { ...plan(8), warmBatches });
    expect(engine.ready).toMatchObject({ ceiling: 4, provider: 'stub' });
    await send(ramp(30));
    await engine.answers(30);
    expect(engine.results.every(({ batch }) => (batch?.size ?? 0) <= 4)).toBe(true);
  });

  it('names those that hang, and not those that are staged behind them', async () => {
    const limits = { hangTimeoutMs: 3000, decodeLanes: 1 };
    engine = await TestEngine.start({ hang_on_red: BAD }, { ...plan(2), ...limits });
    await send([BAD, 1, 2, 3]);
    await until(() => engine.ended !== undefined);
    expect(engine.stuck).toEqual([[0]]);
    expect(engine.outcomes).toEqual([]);
  });

  it('ends when its device is lost, and answers nothing from it', async () => {
    engine = await TestEngine.start(
      { device_error_on_red: BAD, sleep_ms: 5 },
      { ...plan(4), decodeLanes: 1 },
    );
    await send([BAD, 1, 2, 3, 4, 5, 6, 7, 8]);
    await until(() => engine.ended !== undefined);
    expect(engine.ended).toBe(
      'the device failed, a new engine is needed: ' +
        'CUDA failure 700: an illegal memory access was encountered',
    );
    expect(engine.outcomes).toEqual([]);
  });

  it('settles every item once, whether it runs, expires or is cancelled', async () => {
    engine = await TestEngine.start({ sleep_ms: 10 }, { ...plan(4), decodeLanes: 1 });
    const image = await picture(9);
    for (const id of ramp(200)) {
      engine.send(id, image, id % 5 === 0 ? 30 : 60_000);
      if (id % 3 === 0) engine.cancel(id);
    }
    const answers = await engine.answers(200);
    const kind = (outcome: ItemOutcome): string =>
      'dropped' in outcome ? outcome.dropped : 'error' in outcome ? 'error' : 'ran';
    expect([engine.outcomes.length, answers.size]).toEqual([200, 200]);
    const kinds = new Set([...answers.values()].map(kind));
    expect(kinds).toEqual(new Set(['ran', 'cancelled', 'expired']));
  });

  it('finds with a real model what a plain engine finds', async () => {
    const folder = 'models/ssdlite-mobilenet-v2';
    const manifest = readFileSync(`${folder}/shoal.json`, 'utf8');
    const { labels, input } = JSON.parse(manifest) as Pick<EngineConfig, 'labels' | 'input'>;
    const model = { modelPath: `${folder}/model.onnx`, runtime: 'onnx', labels, input } as const;
    const photo = readFileSync('examples/coffee.jpg');
    const found: unknown[] = [];
    for (const isPipelined of [true, false]) {
      engine = await TestEngine.start({}, { ...plan(4), ...model, isPipelined, buckets: [4] });
      for (const id of ramp(6)) engine.send(id, photo);
      const answers = [...(await engine.answers(6)).values()];
      found.push(answers.map((answer) => 'detections' in answer && answer.detections));
      engine.stop();
    }
    expect(found[0]).toEqual(found[1]);
    expect(found[0]).toContainEqual(
      expect.arrayContaining([expect.objectContaining({ label: 'cup' })]),
    );
  });

  it('says of a model that cannot be loaded why', async () => {
    engine = await TestEngine.start({ fail_to_load: 'no such operator' });
    expect([engine.ready, engine.ended]).toEqual([undefined, 'no such operator']);
  });

  it('leaves pictures undecoded where only the way around is measured', async () => {
    engine = await TestEngine.start({ skip_decode: true });
    const good = await picture(7);
    engine.send(0, Buffer.concat([good.subarray(0, 60), Buffer.alloc(40)]));
    expect((await engine.answers(1)).get(0)).toMatchObject({ detections: [{}] });
  });
});
