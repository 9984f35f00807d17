import { ShoalError } from '../errors.js';

/** What a session gives back, by output name; the first dimension is the batch. */
export type Outputs = Readonly<Record<string, OutputTensor>>;

export interface OutputTensor {
  readonly data: Float32Array | Int32Array;
  readonly dims: readonly number[];
}

/** One picture's part of an output, without copying. */
export function rowOf(outputs: Outputs, name: string, index: number): Float32Array | Int32Array {
  const tensor = outputs[name];
  if (tensor === undefined) throw new Error(`the model has no output "${name}"`);
  const size = tensor.dims.slice(1).reduce((product, dim) => product * dim, 1);
  const row = tensor.data.subarray(index * size, (index + 1) * size);
  for (const value of row) {
    if (!Number.isFinite(value)) {
      throw new ShoalError(
        'model_output_invalid',
        `The model's output "${name}" holds a value that is not a finite number.`,
      );
    }
  }
  return row;
}
