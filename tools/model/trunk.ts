import type { OnnxGraph } from '../onnx/graph.js';
import type { TfGraph, TfNode } from './tfjs-graph.js';

/** What the trunk computes in: numbers of 32 or of 16 bits. */
export type Precision = 'fp32' | 'fp16';

/** A per-channel scale and shift that follows a convolution and is folded into its weights. */
interface Affine {
  readonly scale: number;
  readonly shift: number;
}

/**
 * Converts the convolutional part of the graph. TensorFlow works on NHWC and keeps batch
 * normalisation as separate multiplications and additions; ONNX Runtime is fastest on NCHW
 * convolutions that carry their own bias, so both are rewritten here.
 */
export class TrunkConverter {
  readonly #tf: TfGraph;
  readonly #onnx: OnnxGraph;
  readonly #precision: Precision;
  readonly #values = new Map<string, string>();
  readonly #relu6Bounds: readonly [string, string];
  /** How many convolutions were written; each of the original must be written exactly once. */
  convolutions = 0;

  constructor(tf: TfGraph, onnx: OnnxGraph, precision: Precision) {
    this.#tf = tf;
    this.#onnx = onnx;
    this.#precision = precision;
    this.#relu6Bounds = [this.#weights([0], []), this.#weights([6], [])];
  }

  /** Declares that the original value `name` is already available in the new graph. */
  bind(name: string, value: string): void {
    this.#values.set(name, value);
  }

  /**
   * The new value that equals the original `name`, converted on first use.
   * @param channels keep only these output channels, in this order (for convolutions).
   */
  convert(name: string, channels?: readonly number[]): string {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const value = this.#emit(name, [], channels);
    this.#values.set(name, value);
    return value;
  }

  /** `affine` collects what is applied after `name`, outermost first. */
  #emit(name: string, affine: readonly Affine[][], channels?: readonly number[]): string {
    const node = this.#node(name);
    const [first = '', second = ''] = node.inputs;
    switch (node.op) {
      case 'Relu6':
        return this.#onnx.add('Clip', [this.convert(first), ...this.#relu6Bounds]);
      case 'BiasAdd':
      case 'Add':
      case 'Mul': {
        const constant = this.#tf.consts.get(second) ?? this.#tf.consts.get(first);
        if (constant === undefined) {
          return this.#onnx.add('Add', [this.convert(first), this.convert(second)]);
        }
        const step = Array.from(constant.values, (value): Affine =>
          node.op === 'Mul' ? { scale: value, shift: 0 } : { scale: 1, shift: value },
        );
        const operand = this.#tf.consts.has(second) ? first : second;
        return this.#emit(operand, [...affine, step], channels);
      }
      case 'FusedBatchNorm':
        return this.#emit(first, [...affine, this.#batchNorm(node)], channels);
      case 'AddN':
        // The optimiser moved a convolution's bias behind the residual addition; since addition
        // commutes, the bias goes back into the convolution.
        return this.#onnx.add('Add', [this.#emit(first, affine), this.convert(second)]);
      case 'Conv2D':
      case 'DepthwiseConv2dNative':
        return this.#convolution(node, affine, channels);
      default:
        throw new Error(`cannot convert ${node.op} (${name})`);
    }
  }

  #convolution(node: TfNode, affine: readonly Affine[][], channels?: readonly number[]): string {
    const [source = '', weightName = ''] = node.inputs;
    const weights = this.#const(weightName);
    const [height = 0, width = 0, inputs = 0, last = 0] = weights.shape;
    const isDepthwise = node.op === 'DepthwiseConv2dNative';
    const outputs = isDepthwise ? inputs * last : last;
    const kept = channels ?? Array.from({ length: outputs }, (_, channel) => channel);
    const perOutput = isDepthwise ? 1 : inputs;

    const kernel = new Float32Array(kept.length * perOutput * height * width);
    const bias = new Float32Array(kept.length);
    let at = 0;
    kept.forEach((channel, index) => {
      let scale = 1;
      let shift = 0;
      // Innermost first: the step closest to the convolution was collected last.
      for (const step of affine.toReversed()) {
        const { scale: by, shift: add } = step[channel] ?? step[0] ?? { scale: 1, shift: 0 };
        scale *= by;
        shift = shift * by + add;
      }
      bias[index] = shift;
      for (let input = 0; input < perOutput; input++) {
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            const from = isDepthwise
              ? (y * width + x) * outputs + channel
              : ((y * width + x) * inputs + input) * outputs + channel;
            kernel[at++] = (weights.values[from] ?? 0) * scale;
          }
        }
      }
    });

    this.convolutions++;
    const shape = [kept.length, perOutput, height, width];
    return this.#onnx.add(
      'Conv',
      [this.convert(source), this.#weights(kernel, shape), this.#weights(bias, [kept.length])],
      {
        auto_pad: 'SAME_UPPER',
        group: isDepthwise ? inputs : 1,
        kernel_shape: [height, width],
        strides: node.strides.slice(1, 3),
      },
    );
  }

  #weights(values: ArrayLike<number>, shape: readonly number[]): string {
    return this.#precision === 'fp16'
      ? this.#onnx.halves(values, shape)
      : this.#onnx.floats(values, shape);
  }

  #batchNorm(node: TfNode): Affine[] {
    const [, gamma, beta, mean, variance] = node.inputs.map((name) => this.#tf.consts.get(name));
    if (!gamma || !beta || !mean || !variance) throw new Error(`${node.name} has no constants`);
    return Array.from(gamma.values, (g, channel) => {
      const scale = g / Math.sqrt((variance.values[channel] ?? 0) + node.epsilon);
      return { scale, shift: (beta.values[channel] ?? 0) - (mean.values[channel] ?? 0) * scale };
    });
  }

  #node(name: string): TfNode {
    const node = this.#tf.nodes.get(name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  #const(name: string): { shape: readonly number[]; values: ArrayLike<number> } {
    const constant = this.#tf.consts.get(name);
    if (constant === undefined) throw new Error(`no constant ${name}`);
    return constant;
  }
}
