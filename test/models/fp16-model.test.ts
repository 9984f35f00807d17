import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { benchImages } from '../../bench/images.js';
import type { Detection } from '../../src/heads/detection.js';
import { iou } from '../../src/heads/nms.js';
import type { Outputs } from '../../src/heads/outputs.js';
import { decodeSsd } from '../../src/heads/ssd.js';
import { decodeInto } from '../../src/image/decode.js';
import { visibleSize } from '../../src/image/info.js';
import { inspectImage } from '../../src/image/inspect.js';
import { BUNDLED_MODEL } from '../../src/models/package.js';
import { COCO_LABELS_BY_ID } from '../../tools/model/coco-labels.js';

const SHA256 = '412daaabafaea4ff6e1b463dd753be9e7dd47808e33c2a6b81a8aa5e680337a7';
const SIZE = 300;
const THRESHOLD = 0.5;
const CONFIDENCE_TOLERANCE = 0.05;
const labels = [...COCO_LABELS_BY_ID.values()];
const path = (file: string): string => join(BUNDLED_MODEL, file);
const load = (file: string): Promise<InferenceSession> =>
  InferenceSession.create(path(file), { intraOpNumThreads: 1, interOpNumThreads: 1 });

async function detect(session: InferenceSession, file: Buffer): Promise<Detection[]> {
  const info = inspectImage(file);
  const data = new Uint8Array(SIZE * SIZE * 3);
  await decodeInto(file, info, { data, width: SIZE, height: SIZE }, 1e9);
  const outputs = await session.run({ image: new Tensor('uint8', data, [1, SIZE, SIZE, 3]) });
  const threshold = THRESHOLD - CONFIDENCE_TOLERANCE;
  const request = { index: 0, threshold, labels, ...visibleSize(info) };
  return decodeSsd(outputs as unknown as Outputs, request);
}

/** What was found surely must be found again; what lies at the threshold may fall below it. */
function expectAgreement(sure: readonly Detection[], other: readonly Detection[]): void {
  for (const one of sure.filter(({ confidence }) => confidence >= THRESHOLD)) {
    const again = other.some(
      (two) =>
        two.label === one.label &&
        Math.abs(two.confidence - one.confidence) <= CONFIDENCE_TOLERANCE &&
        iou(one.bbox, two.bbox) >= 0.9,
    );
    expect(again, `${JSON.stringify(one)} among ${JSON.stringify(other)}`).toBe(true);
  }
}

describe('the bundled model in 16 bits', () => {
  let sessions: { full: InferenceSession; half: InferenceSession };
  let photos: Buffer[];

  beforeAll(async () => {
    sessions = { full: await load('model.onnx'), half: await load('model.fp16.onnx') };
    const examples = readdirSync('examples').filter((name) => name.endsWith('.jpg'));
    photos = [
      ...examples.map((name) => readFileSync(join('examples', name))),
      ...(await benchImages(undefined)),
    ];
  });

  it('is the very file that the tool writes', () => {
    const file = readFileSync(path('model.fp16.onnx'));
    expect(createHash('sha256').update(file).digest('hex')).toBe(SHA256);
  });

  it('finds what the one in 32 bits finds, and nothing else', async () => {
    let found = 0;
    for (const photo of photos) {
      const full = await detect(sessions.full, photo);
      const half = await detect(sessions.half, photo);
      expectAgreement(full, half);
      expectAgreement(half, full);
      found += full.length;
    }
    expect(found).toBeGreaterThan(3);
  });
});
