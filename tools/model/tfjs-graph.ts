/** Reads a TensorFlow.js graph model (model.json plus weight shards) into nodes and constants. */

export interface TfNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly strides: readonly number[];
  readonly epsilon: number;
}

export interface TfConst {
  readonly shape: readonly number[];
  readonly values: Float32Array | Int32Array;
}

export interface TfGraph {
  readonly nodes: ReadonlyMap<string, TfNode>;
  readonly consts: ReadonlyMap<string, TfConst>;
}

interface RawNode {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: {
    readonly strides?: { readonly list: { readonly i: readonly string[] } };
    readonly epsilon?: { readonly f: number };
  };
}

interface RawModel {
  readonly modelTopology: { readonly node: readonly RawNode[] };
  readonly weightsManifest: readonly {
    readonly paths: readonly string[];
    readonly weights: readonly {
      readonly name: string;
      readonly shape: readonly number[];
      readonly dtype: string;
    }[];
  }[];
}

export function readTfjsGraph(files: ReadonlyMap<string, Uint8Array>, folder: string): TfGraph {
  const file = (name: string): Uint8Array => {
    const bytes = files.get(`${folder}/${name}`);
    if (bytes === undefined) throw new Error(`${folder}/${name} is missing`);
    return bytes;
  };
  const model = JSON.parse(Buffer.from(file('model.json')).toString('utf8')) as RawModel;

  const nodes = new Map<string, TfNode>();
  for (const raw of model.modelTopology.node) {
    nodes.set(raw.name, {
      name: raw.name,
      op: raw.op,
      // Control inputs (^name) order execution only, and ":0" is the default output.
      inputs: (raw.input ?? [])
        .filter((name) => !name.startsWith('^'))
        .map((name) => name.replace(/:0$/, '')),
      strides: (raw.attr?.strides?.list.i ?? []).map(Number),
      epsilon: raw.attr?.epsilon?.f ?? 0,
    });
  }

  const consts = new Map<string, TfConst>();
  for (const group of model.weightsManifest) {
    const data = Buffer.concat(group.paths.map(file));
    let at = 0;
    for (const { name, shape, dtype } of group.weights) {
      const count = shape.reduce((product, size) => product * size, 1);
      const bytes = Uint8Array.from(data.subarray(at, at + count * 4)).buffer;
      if (dtype !== 'float32' && dtype !== 'int32') throw new Error(`${name} is ${dtype}`);
      const values = dtype === 'float32' ? new Float32Array(bytes) : new Int32Array(bytes);
      consts.set(name, { shape, values });
      at += count * 4;
    }
  }
  return { nodes, consts };
}
