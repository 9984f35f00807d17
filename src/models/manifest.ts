import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { HEADS } from '../heads/head.js';

/** Names become URL parts, metric labels and map keys; they are never joined to a path. */
export const MODEL_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** What `shoal.json` beside a model says about it. */
export const ManifestSchema = Type.Object(
  {
    name: Type.Optional(Type.String({ pattern: MODEL_NAME.source })),
    description: Type.Optional(Type.String()),
    head: Type.Enum(Object.keys(HEADS)),
    /** `stub` is for tests and refused elsewhere. */
    runtime: Type.Optional(Type.Enum(['onnx', 'stub'])),
    input: Type.Object(
      {
        width: Type.Integer({ minimum: 1, maximum: 8192 }),
        height: Type.Integer({ minimum: 1, maximum: 8192 }),
      },
      { additionalProperties: false },
    ),
    labels: Type.Array(Type.String(), { minItems: 1 }),
  },
  { additionalProperties: false },
);
export type Manifest = Static<typeof ManifestSchema>;

const validator = Compile(ManifestSchema);

/** @throws with one line that says what is wrong */
export function parseManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('shoal.json is not valid JSON');
  }
  if (validator.Check(value)) return value;
  const [first] = validator.Errors(value);
  const { instancePath = '', message = 'is not valid' } = first ?? {};
  const allowed = first?.keyword === 'enum' ? `: ${first.params.allowedValues.join(', ')}` : '';
  const name = instancePath.slice(1).replaceAll('/', '.');
  throw new Error(`shoal.json: "${name}" ${message}${allowed}`);
}
