import { existsSync, readFileSync } from 'node:fs';
import type { Measure } from '../engine/messages.js';
import { inspectImage } from '../image/inspect.js';
import { median } from '../planning/profile.js';
import type { Lane } from './lane-messages.js';

/** Nothing passes this, so that a made-up picture costs no more than a real one. */
const THRESHOLD = 1;

/**
 * Runs made-up batches on all sessions side by side, each as often as asked, and gives the times
 * of all runs. What a thread takes to get its task and to answer is part of them, as in service,
 * unless the next batch hides it.
 */
export async function measure(
  lanes: readonly Lane[],
  { batch, runs }: Measure,
  picture: { readonly width: number; readonly height: number },
): Promise<number[]> {
  const items = Array.from({ length: batch }, () => ({
    source: 0,
    threshold: THRESHOLD,
    ...picture,
  }));
  const runOn = (lane: Lane): Promise<number> =>
    new Promise((resolve, reject) => {
      const started = performance.now();
      lane.assign({ kind: 'run', session: 'narrow', items }, (answer) => {
        if (answer.kind !== 'ran') return;
        const failed = answer.results.some(({ result }) => typeof result !== 'string');
        const { ceiling, busyMs = performance.now() - started } = answer;
        if (ceiling !== undefined) reject(new Error('there is not enough memory for this batch'));
        else if (failed) reject(new Error('the model fails on made-up pictures'));
        else resolve(busyMs);
      });
    });
  const times: number[] = [];
  const measureOn = (lane: Lane): Promise<unknown> => {
    let left = runs;
    const runAll = async (): Promise<void> => {
      while (left-- > 0) times.push(await runOn(lane));
    };
    const first = runAll();
    // As in service, the next batch waits at the session's door.
    return lane.canStage ? Promise.all([first, runAll()]) : first;
  };
  await Promise.all(lanes.filter(({ hasSession }) => hasSession).map(measureOn));
  return times;
}

const PHOTO = new URL('../../examples/coffee.jpg', import.meta.url);
const DECODE_RUNS = 5;

/**
 * How long lanes take to decode an ordinary photo while all of them do, as under load: they share
 * memory and caches. 0 when there is none to try.
 */
export async function measureDecode(lanes: readonly Lane[]): Promise<number> {
  const decoders = lanes.filter(({ canDecode }) => canDecode);
  if (decoders.length === 0 || !existsSync(PHOTO)) return 0;
  const file = readFileSync(PHOTO);
  const image = inspectImage(file);
  // Lanes get files in shared memory.
  const bytes = new Uint8Array(new SharedArrayBuffer(file.length));
  bytes.set(file);
  const decodeOn = (lane: Lane): Promise<number> =>
    new Promise((resolve) => {
      lane.assign({ kind: 'decode', source: { bytes, image }, slot: 0 }, (answer) => {
        resolve(answer.kind === 'decoded' ? answer.ms : 0);
      });
    });
  const shortest = await Promise.all(
    decoders.map(async (lane) => {
      const times: number[] = [];
      while (times.length < DECODE_RUNS) times.push(await decodeOn(lane));
      // The first ones load code; the shortest has the least of everything else in it.
      return Math.min(...times);
    }),
  );
  return median(shortest);
}

/** A picture of noise: real ones differ in content, which costs a model the same. */
export function fillWithNoise(pixels: Uint8Array): void {
  let state = 1;
  for (let at = 0; at < pixels.length; at++) {
    // xorshift: fast, and the same picture every time.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    pixels[at] = state;
  }
}
