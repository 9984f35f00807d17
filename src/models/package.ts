import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Manifest, MODEL_NAME, parseManifest } from './manifest.js';

/** A model on disk: the file, and what its manifest says. */
export interface ModelPackage {
  readonly name: string;
  readonly modelPath: string;
  /** The same model with half the precision, where the package has one. */
  readonly fp16Path?: string;
  readonly manifest: Manifest;
}

const MODEL_FILE = 'model.onnx';
const MANIFEST_FILE = 'shoal.json';

export const BUNDLED_MODEL = fileURLToPath(
  new URL('../../models/ssdlite-mobilenet-v2', import.meta.url),
);

/**
 * Reads a package folder, an `.onnx` file with `shoal.json` beside it, or a folder of packages.
 * @throws with one line that names the path and what is wrong with it
 */
export function readPackages(path: string): ModelPackage[] {
  if (!existsSync(path)) throw new Error(`there is no model at ${path}`);
  if (!statSync(path).isDirectory()) return [readPackage(dirname(path), basename(path))];
  if (existsSync(join(path, MANIFEST_FILE)) || existsSync(join(path, MODEL_FILE))) {
    return [readPackage(path, MODEL_FILE)];
  }
  const packages = readdirSync(path)
    .sort()
    .filter((entry) => existsSync(join(path, entry, MANIFEST_FILE)))
    .map((entry) => readPackage(join(path, entry), MODEL_FILE));
  if (packages.length === 0) {
    throw new Error(
      `${path} holds no model package (a folder with ${MODEL_FILE} and ${MANIFEST_FILE})`,
    );
  }
  return packages;
}

function readPackage(folder: string, file: string): ModelPackage {
  const manifestPath = resolve(folder, MANIFEST_FILE);
  const modelPath = resolve(folder, file);
  for (const needed of [manifestPath, modelPath]) {
    if (!existsSync(needed)) throw new Error(`${needed} is missing`);
  }
  let manifest: Manifest;
  try {
    manifest = parseManifest(readFileSync(manifestPath, 'utf8'));
  } catch (error) {
    throw new Error(`${folder}: ${(error as Error).message}`, { cause: error });
  }
  const name = manifest.name ?? basename(resolve(folder)).toLowerCase();
  if (!MODEL_NAME.test(name)) throw new Error(`${folder}: "${name}" cannot be a model's name`);
  const fp16Path = modelPath.replace(/(\.onnx)?$/, '.fp16.onnx');
  return { name, modelPath, manifest, ...(existsSync(fp16Path) && { fp16Path }) };
}
