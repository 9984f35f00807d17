import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '../../src/heads/detection.js';
import { iou } from '../../src/heads/nms.js';
import { TestServer } from '../helpers/server.js';

/**
 * Photos of COCO with detections that an independent run of the original graph gave. They are not
 * part of the repository: TEST_DATA names a folder with `coco/*.jpg` and `reference.json`.
 */
const data = [process.env['TEST_DATA']].find(
  (folder) => folder !== undefined && existsSync(join(folder, 'reference.json')),
);
if (data === undefined) console.warn('SKIPPED: no COCO photos (set TEST_DATA)');

interface Reference {
  readonly width: number;
  readonly height: number;
  readonly ssdlite: readonly Detection[];
}

describe.skipIf(data === undefined)('on photos of COCO', () => {
  const folder = data ?? '';
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  async function detect(image: Buffer): Promise<Detection[]> {
    const type = { 'content-type': 'image/jpeg' };
    const response = await server.post('/predict?confidence_threshold=0.3', image, type);
    return ((await response.json()) as { detections: Detection[] }).detections;
  }
  const isSure = ({ confidence }: Detection): boolean => confidence >= 0.5;
  const hasMatch = (one: Detection, others: readonly Detection[]): boolean =>
    others.some(
      (other) =>
        other.label === one.label &&
        iou(other.bbox, one.bbox) >= 0.8 &&
        Math.abs(other.confidence - one.confidence) <= 0.1,
    );

  /** The share of sure detections of `a` that `b` has, too, and the other way round. */
  class Agreement {
    readonly counts = { all: [0, 0] as [number, number], matched: [0, 0] as [number, number] };

    add(a: readonly Detection[], b: readonly Detection[]): void {
      for (const [side, from, to] of [
        [0, a, b],
        [1, b, a],
      ] as const) {
        const sure = from.filter(isSure);
        this.counts.all[side] += sure.length;
        this.counts.matched[side] += sure.filter((one) => hasMatch(one, to)).length;
      }
    }

    get worst(): number {
      const { all, matched } = this.counts;
      return Math.min(matched[0] / all[0], matched[1] / all[1]);
    }
  }

  it('agrees with the original graph, and with itself on enlarged photos, both ways', async () => {
    const reference = JSON.parse(readFileSync(join(folder, 'reference.json'), 'utf8')) as Record<
      string,
      Reference
    >;
    const [withOriginal, withEnlarged] = [new Agreement(), new Agreement()];
    for (const name of readdirSync(join(folder, 'coco'))) {
      const known = reference[name];
      if (known === undefined) continue;
      const photo = readFileSync(join(folder, 'coco', name));
      const found = await detect(photo);
      withOriginal.add(found, known.ssdlite);

      const scale = 4032 / Math.max(known.width, known.height);
      const large = await sharp(photo)
        .resize(Math.round(known.width * scale), Math.round(known.height * scale), {
          fit: 'fill',
          kernel: 'cubic',
        })
        .jpeg({ quality: 92 })
        .toBuffer();
      const again = (await detect(large)).map((one) => {
        const [x1, y1, x2, y2] = one.bbox;
        return { ...one, bbox: [x1 / scale, y1 / scale, x2 / scale, y2 / scale] as const };
      });
      withEnlarged.add(found, again);
    }
    expect(withOriginal.counts.all[0]).toBeGreaterThan(100);
    expect(withOriginal.worst).toBeGreaterThanOrEqual(0.95);
    expect(withEnlarged.worst).toBeGreaterThanOrEqual(0.94);
  });
});
