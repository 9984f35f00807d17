import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUNDLED_MODEL } from '../../src/models/package.js';
import { COCO_LABELS_BY_ID } from '../../tools/model/coco-labels.js';
import { SAMPLE_INPUTS } from '../../tools/model/sample-inputs.js';

const SHA256 = '3620e077d3e3b0e81331cb7b29cd11c6424af1d33ee51e48c63dced78184b508';
const path = join(BUNDLED_MODEL, 'model.onnx');
const CANDIDATES = 100;

/** Per sample: score, label and box of the best pairs, recorded from the original graph. */
const reference = JSON.parse(
  readFileSync('test/fixtures/ssdlite-reference.json', 'utf8'),
) as Record<string, [number, number, number, number, number, number][]>;

describe('the bundled model', () => {
  let session: InferenceSession;
  const run = async (
    pictures: readonly Uint8Array[],
  ): Promise<InferenceSession.OnnxValueMapType> => {
    const pixels = new Uint8Array(Buffer.concat(pictures));
    return session.run({ image: new Tensor('uint8', pixels, [pictures.length, 300, 300, 3]) });
  };
  const rows = (outputs: InferenceSession.OnnxValueMapType, at: number): number[][] => {
    const values = (name: string): number[] =>
      Array.from((outputs[name] as Tensor).data as Float32Array);
    const [scores, classes, boxes] = [values('scores'), values('classes'), values('boxes')];
    return Array.from({ length: CANDIDATES }, (_, row) => {
      const index = at * CANDIDATES + row;
      return [scores[index] ?? -1, classes[index] ?? -1, ...boxes.slice(index * 4, index * 4 + 4)];
    });
  };

  beforeAll(async () => {
    session = await InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  });

  it('is the very file that the tool writes', () => {
    expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(SHA256);
  });

  it('has the labels that its manifest names', () => {
    const manifest = JSON.parse(readFileSync(join(BUNDLED_MODEL, 'shoal.json'), 'utf8')) as {
      labels: string[];
    };
    expect(manifest.labels).toEqual([...COCO_LABELS_BY_ID.values()]);
  });

  it.each(SAMPLE_INPUTS.map(({ name, pixels }) => [name, pixels] as const))(
    'gives what the original graph gives on %s, to 1e-4',
    async (name, pixels) => {
      const actual = rows(await run([pixels()]), 0);
      const expected = reference[name] ?? [];
      expect(expected).toHaveLength(CANDIDATES);
      expected.forEach((row, index) => {
        expect(Math.abs((actual[index]?.[0] ?? 9) - row[0])).toBeLessThan(1e-4);
        // Pairs with nearly the same score may change places; one of them must be this one.
        const same = actual.some((other) =>
          row.every((value, at) => Math.abs((other[at] ?? 9) - value) < 1e-4),
        );
        expect(same, `${name} row ${String(index)}: ${row.join()}`).toBe(true);
      });
    },
  );

  it('gives for a batch what it gives one by one', async () => {
    const pictures = SAMPLE_INPUTS.map(({ pixels }) => pixels());
    const together = await run(pictures);
    for (const [index, picture] of pictures.entries()) {
      const alone = rows(await run([picture]), 0);
      rows(together, index).forEach((row, at) => {
        row.forEach((value, column) => {
          expect(Math.abs(value - (alone[at]?.[column] ?? 9))).toBeLessThan(1e-4);
        });
      });
    }
  });

  it('hands out a few kilobytes per picture', async () => {
    const outputs = await run([SAMPLE_INPUTS[0]?.pixels() ?? new Uint8Array()]);
    const bytes = Object.values(outputs).reduce(
      (sum, value) => sum + (value.data as Float32Array).byteLength,
      0,
    );
    expect(bytes).toBeLessThan(4096);
  });
});
