import { DATA_TYPE, OnnxGraph } from '../onnx/graph.js';
import { COCO_LABELS_BY_ID } from './coco-labels.js';
import type { TfGraph } from './tfjs-graph.js';
import { type Precision, TrunkConverter } from './trunk.js';

/** How many candidates leave the graph per image: 24 bytes each instead of 690 KB in all. */
export const CANDIDATES = 100;
const INPUT_SIZE = 300;
const ORIGINAL_CLASSES = 91;
const FEATURE_MAPS = 6;
/** The box coder's scales: centres are encoded in tenths, sizes in fifths. */
const CENTRE_SCALE = 10;
const SIZE_SCALE = 5;

/**
 * Converts SSDLite MobileNetV2 and adds candidate selection and box decoding. These and the
 * normalisation of pixels are always done in 32 bits: they cost little, and a score or a corner
 * would lose more than the trunk does.
 */
export function convertSsdlite(tf: TfGraph, precision: Precision): Uint8Array {
  const graph = new OnnxGraph('ssdlite-mobilenet-v2');
  const trunk = new TrunkConverter(tf, graph, precision);
  const cast = (value: string, to: 'float' | 'float16'): string =>
    precision === 'fp16' ? graph.add('Cast', [value], { to: DATA_TYPE[to] }) : value;
  trunk.bind('Preprocessor/sub', cast(normalise(graph, tf), 'float16'));

  const maps = Array.from({ length: FEATURE_MAPS }, (_, map) => map);
  const logits = joinMaps(
    graph,
    COCO_LABELS_BY_ID.size,
    maps.map((map) => classLogits(trunk, tf, map)),
  );
  const encodings = joinMaps(
    graph,
    4,
    maps.map((map) => boxEncodings(trunk, tf, map)),
  );
  selectAndDecode(graph, cast(logits, 'float'), cast(encodings, 'float'), anchors(tf));

  const originals = [...tf.nodes.values()].filter((node) => /^(Conv2D|Depthwise)/.test(node.op));
  if (trunk.convolutions !== originals.length) {
    throw new Error(`${String(trunk.convolutions)} of ${String(originals.length)} convolutions`);
  }
  return graph.finish('shoal', { labels: JSON.stringify([...COCO_LABELS_BY_ID.values()]) });
}

/** uint8 pixels to [-1, 1]. The transpose comes first because moving bytes is cheaper. */
function normalise(graph: OnnxGraph, tf: TfGraph): string {
  const image = graph.input('image', 'uint8', ['batch', INPUT_SIZE, INPUT_SIZE, 3]);
  const planes = graph.add('Transpose', [image], { perm: [0, 3, 1, 2] });
  const floats = graph.add('Cast', [planes], { to: 1 });
  const scale = graph.floats(constant(tf, 'Preprocessor/mul/x'), []);
  const offset = graph.floats(constant(tf, 'Preprocessor/sub/y'), []);
  return graph.add('Sub', [graph.add('Mul', [floats, scale]), offset]);
}

/** Class scores before the sigmoid, without background and the ids that no COCO class has. */
function classLogits(trunk: TrunkConverter, tf: TfGraph, map: number): string {
  const name = `BoxPredictor_${String(map)}/ClassPredictor`;
  const anchorsPerCell = constant(tf, `${name}/biases`).length / ORIGINAL_CLASSES;
  const channels = Array.from({ length: anchorsPerCell }, (_, anchor) =>
    [...COCO_LABELS_BY_ID.keys()].map((id) => anchor * ORIGINAL_CLASSES + id),
  ).flat();
  return trunk.convert(`${name}/BiasAdd`, channels);
}

/** Box encodings, reordered from (y, x, h, w) to (x, y, w, h). */
function boxEncodings(trunk: TrunkConverter, tf: TfGraph, map: number): string {
  const name = `BoxPredictor_${String(map)}/BoxEncodingPredictor`;
  const anchorsPerCell = constant(tf, `${name}/biases`).length / 4;
  const channels = Array.from({ length: anchorsPerCell }, (_, anchor) =>
    [1, 0, 3, 2].map((coordinate) => anchor * 4 + coordinate),
  ).flat();
  return trunk.convert(`${name}/BiasAdd`, channels);
}

/** [N, A×width, H, W] per feature map to one [N, 1917, width]. */
function joinMaps(graph: OnnxGraph, width: number, maps: readonly string[]): string {
  const shape = graph.int64s([0, -1, width]);
  const rows = maps.map((map) =>
    graph.add('Reshape', [graph.add('Transpose', [map], { perm: [0, 2, 3, 1] }), shape]),
  );
  return graph.add('Concat', rows, { axis: 1 });
}

/** Anchors as (centre x, centre y, width, height), from the corners that the graph holds. */
function anchors(tf: TfGraph): number[] {
  const corners = constant(tf, 'Postprocessor/ExpandDims');
  const out: number[] = [];
  for (let at = 0; at < corners.length; at += 4) {
    const [top = 0, left = 0, bottom = 0, right = 0] = Array.from(corners).slice(at, at + 4);
    out.push((left + right) / 2, (top + bottom) / 2, right - left, bottom - top);
  }
  return out;
}

/**
 * Picks the best (anchor, class) pairs and decodes only their boxes. The first top-k keeps the
 * anchors with the best single class, which is enough: a pair among the best k can be beaten by at
 * most k − 1 anchors. The second picks the pairs.
 */
function selectAndDecode(
  graph: OnnxGraph,
  logits: string,
  encodings: string,
  table: number[],
): void {
  const classes = graph.int64s([COCO_LABELS_BY_ID.size], []);
  const k = graph.int64s([CANDIDATES]);
  const lastAxis = graph.int64s([-1]);
  const pick = (data: string, rows: string): string =>
    graph.add('GatherND', [data, graph.add('Unsqueeze', [rows, lastAxis])], { batch_dims: 1 });

  const best = graph.add('ReduceMax', [logits], { axes: [2], keepdims: 0 });
  const [, rows = ''] = graph.addNamed('TopK', [best, k], ['candidate_logits', 'candidate_rows']);
  const flat = graph.add('Reshape', [pick(logits, rows), graph.int64s([0, -1])]);
  const [top = '', pairs = ''] = graph.addNamed('TopK', [flat, k], ['top_logits', 'top_pairs']);

  graph.addNamed('Sigmoid', [top], ['scores']);
  graph.addNamed('Cast', [graph.add('Mod', [pairs, classes])], ['classes'], { to: 6 });

  const anchorRows = graph.add('GatherElements', [rows, graph.add('Div', [pairs, classes])], {
    axis: 1,
  });
  const encoded = pick(encodings, anchorRows);
  const anchor = graph.add('Gather', [graph.floats(table, [table.length / 4, 4]), anchorRows]);
  const first = (value: string): string => slice(graph, value, 0);
  const second = (value: string): string => slice(graph, value, 2);
  const scaled = (value: string, by: number): string =>
    graph.add('Mul', [value, graph.floats([by], [])]);

  const offset = graph.add('Mul', [scaled(first(encoded), 1 / CENTRE_SCALE), second(anchor)]);
  const centre = graph.add('Add', [offset, first(anchor)]);
  const size = graph.add('Mul', [
    graph.add('Exp', [scaled(second(encoded), 1 / SIZE_SCALE)]),
    second(anchor),
  ]);
  const half = scaled(size, 0.5);
  graph.addNamed(
    'Concat',
    [graph.add('Sub', [centre, half]), graph.add('Add', [centre, half])],
    ['boxes'],
    { axis: 2 },
  );

  graph.output('boxes', 'float', ['batch', CANDIDATES, 4]);
  graph.output('scores', 'float', ['batch', CANDIDATES]);
  graph.output('classes', 'int32', ['batch', CANDIDATES]);
}

/** Two of the four coordinates, starting at `from`. */
function slice(graph: OnnxGraph, value: string, from: number): string {
  const [start, end, axis] = [from, from + 2, 2].map((entry) => graph.int64s([entry]));
  return graph.add('Slice', [value, start ?? '', end ?? '', axis ?? '']);
}

function constant(tf: TfGraph, name: string): Float32Array | Int32Array {
  const found = tf.consts.get(name);
  if (found === undefined) throw new Error(`no constant ${name}`);
  return found.values;
}
