import { afterEach, describe, expect, it } from 'vitest';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { batchSizeOf, stubModels, TestServer } from '../helpers/server.js';

/** Collects everything that is sent together into one batch. */
const TOGETHER = ['--sessions', '1', '--max-batch', '8', '--batching', 'fixed'];

describe('a failure in a batch', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  const send = (images: readonly Buffer[]): Promise<Response[]> =>
    Promise.all(images.map((image) => server.post('/predict', image)));

  it('of one corrupt picture and one that the model cannot take fails those two', async () => {
    server = await TestServer.start([
      stubModels({ one: { throw_on_red: 255 } }),
      ...TOGETHER,
      '--window-ms',
      '2000',
    ]);
    const [good, bad] = [await solidPng(GREEN), await solidPng(RED)];
    const corrupt = Buffer.from(good);
    corrupt.fill(0, corrupt.length - 30);
    const images = [good, good, corrupt, good, bad, good, good, good];
    const answers = await send(images);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 200, 500, 200, 200, 200]);
    expect(await answers[2]?.json()).toMatchObject({ code: 'invalid_image' });
    expect(await answers[4]?.json()).toMatchObject({ code: 'model_failed' });
    // They really were one batch: seven that could be decoded.
    const sizes = answers.filter(({ status }) => status === 200).map(batchSizeOf);
    expect(sizes).toEqual([7, 7, 7, 7, 7, 7]);
    expect(await server.metric('inference_batch_size_count{model="one"}')).toBe(1);
  });

  it('for want of memory halves it, and the next ones are smaller from the start', async () => {
    server = await TestServer.start([
      stubModels({ one: { max_images: 3, spares_black: true } }),
      ...TOGETHER,
      '--window-ms',
      '1000',
    ]);
    const good = await solidPng(GREEN);
    const first = await send(Array.from({ length: 8 }, () => good));
    expect(first.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    const second = await send(Array.from({ length: 8 }, () => good));
    expect(second.map(batchSizeOf)).toEqual(Array.from({ length: 8 }, () => 2));
    const warnings = server.lines.filter(({ msg }) => msg.startsWith('not enough memory'));
    expect(warnings).toMatchObject([{ max_batch: 2 }]);
  });

  it('is not waited for where the warm-up shows that memory is not enough', async () => {
    server = await TestServer.start([stubModels({ one: { max_images: 3 } }), ...TOGETHER]);
    const { plan } = await server.json<{ plan: { max_batch: number } }>('/models/one');
    expect(plan.max_batch).toBe(2);
    const good = await solidPng(GREEN);
    const answers = await send(Array.from({ length: 6 }, () => good));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
  });

  it('remembers the memory over a crash of the engine', async () => {
    server = await TestServer.start([
      stubModels({ one: { max_images: 1, spares_black: true, crash_on_red: 255 } }),
      ...TOGETHER,
      '--window-ms',
      '500',
    ]);
    const [good, deadly] = [await solidPng(GREEN), await solidPng(RED)];
    await send([good, good]);
    await send([deadly]);
    const after = await send([good, good]);
    expect(after.map(batchSizeOf)).toEqual([1, 1]);
  });

  it('with values that are not numbers is an error of that picture', async () => {
    server = await TestServer.start([
      stubModels({ one: { nan_on_red: 255 } }),
      ...TOGETHER,
      '--window-ms',
      '500',
    ]);
    const answers = await send([await solidPng(GREEN), await solidPng(RED), await solidPng(BLUE)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 500, 200]);
    expect(await answers[1]?.json()).toMatchObject({ code: 'model_output_invalid' });
  });
});
