import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../config/load.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

/** Before the work, not after it. */
export function checkWritable(flag: string, path: string | undefined): void {
  if (path === undefined || path === '-') return;
  try {
    writeFileSync(path, '', { flag: 'a' });
  } catch (error) {
    throw new ConfigError(`cannot write --${flag} ${path}: ${(error as Error).message}`);
  }
}

/** The photos to send; the bundled ones when none are named. */
export function readImages(paths: readonly string[]): [Buffer, ...Buffer[]] {
  const bundled = (): string[] =>
    readdirSync(EXAMPLES)
      .filter((name) => name.endsWith('.jpg'))
      .map((name) => EXAMPLES + name);
  const [first, ...more] = (paths.length > 0 ? paths : bundled()).map((path) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new ConfigError(`cannot read the image ${path}: ${(error as Error).message}`);
    }
  });
  if (first === undefined) throw new ConfigError('there are no bundled photos; give --image');
  return [first, ...more];
}
