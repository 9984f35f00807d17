import { halvesOf } from './float16.js';
import { Message } from './protobuf.js';

/** Field numbers and enum values below are those of onnx.proto (IR version 8). */
const IR_VERSION = 8;
const OPSET = 17;
export const DATA_TYPE = { float: 1, uint8: 2, int32: 6, int64: 7, float16: 10 } as const;
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const;

export type DataType = keyof typeof DATA_TYPE;
/** A number is a fixed size, a string names a dynamic one. */
export type Shape = readonly (number | string)[];
export type Attribute = number | string | readonly number[] | { readonly float: number };

/** Collects nodes and weights and writes them as one ONNX model. */
export class OnnxGraph {
  readonly #name: string;
  readonly #nodes: Message[] = [];
  readonly #weights: Message[] = [];
  readonly #inputs: Message[] = [];
  readonly #outputs: Message[] = [];
  #nextValue = 0;

  constructor(name: string) {
    this.#name = name;
  }

  input(name: string, type: DataType, shape: Shape): string {
    this.#inputs.push(valueInfo(name, type, shape));
    return name;
  }

  output(name: string, type: DataType, shape: Shape): void {
    this.#outputs.push(valueInfo(name, type, shape));
  }

  floats(values: ArrayLike<number>, shape: readonly number[]): string {
    const data = Float32Array.from(values);
    return this.#weight('float', new Uint8Array(data.buffer), shape);
  }

  halves(values: ArrayLike<number>, shape: readonly number[]): string {
    return this.#weight('float16', new Uint8Array(halvesOf(values).buffer), shape);
  }

  int64s(values: readonly number[], shape: readonly number[] = [values.length]): string {
    const data = BigInt64Array.from(values, BigInt);
    return this.#weight('int64', new Uint8Array(data.buffer), shape);
  }

  /** Adds a node with one output and returns the name of that output. */
  add(op: string, inputs: readonly string[], attributes: Record<string, Attribute> = {}): string {
    return this.addNamed(op, inputs, [this.#freshName(op.toLowerCase())], attributes)[0] ?? '';
  }

  /** Adds a node whose outputs are named by the caller. */
  addNamed(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Record<string, Attribute> = {},
  ): readonly string[] {
    const node = new Message();
    for (const name of inputs) node.string(1, name);
    for (const name of outputs) node.string(2, name);
    node.string(4, op);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#nodes.push(node);
    return outputs;
  }

  /** The bytes of the model file. */
  finish(producer: string, metadata: Record<string, string>): Uint8Array {
    const graph = new Message();
    for (const node of this.#nodes) graph.message(1, node);
    graph.string(2, this.#name);
    for (const weight of this.#weights) graph.message(5, weight);
    for (const input of this.#inputs) graph.message(11, input);
    for (const output of this.#outputs) graph.message(12, output);

    const model = new Message().varint(1, IR_VERSION).string(2, producer).message(7, graph);
    model.message(8, new Message().string(1, '').varint(2, OPSET));
    for (const [key, value] of Object.entries(metadata)) {
      model.message(14, new Message().string(1, key).string(2, value));
    }
    return model.finish();
  }

  #weight(type: DataType, data: Uint8Array, shape: readonly number[]): string {
    const name = this.#freshName('w');
    const tensor = new Message();
    for (const size of shape) tensor.varint(1, size);
    tensor.varint(2, DATA_TYPE[type]).string(8, name).bytes(9, data);
    this.#weights.push(tensor);
    return name;
  }

  #freshName(prefix: string): string {
    return `${prefix}_${String(this.#nextValue++)}`;
  }
}

function attribute(name: string, value: Attribute): Message {
  const message = new Message().string(1, name);
  if (typeof value === 'number') return message.varint(3, value).varint(20, ATTRIBUTE.int);
  if (typeof value === 'string') {
    return message.bytes(4, new TextEncoder().encode(value)).varint(20, ATTRIBUTE.string);
  }
  if ('float' in value) return message.float(2, value.float).varint(20, ATTRIBUTE.float);
  for (const entry of value) message.varint(8, entry);
  return message.varint(20, ATTRIBUTE.ints);
}

function valueInfo(name: string, type: DataType, shape: Shape): Message {
  const dims = new Message();
  for (const size of shape) {
    const dim = new Message();
    dims.message(1, typeof size === 'number' ? dim.varint(1, size) : dim.string(2, size));
  }
  const tensorType = new Message().varint(1, DATA_TYPE[type]).message(2, dims);
  return new Message().string(1, name).message(2, new Message().message(1, tensorType));
}
