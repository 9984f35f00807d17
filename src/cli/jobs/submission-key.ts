import { createHash, randomBytes } from 'node:crypto';

export interface LoadedImage {
  /** As it is called in the results. */
  readonly file: string;
  readonly bytes: Buffer;
}

export function newRunKey(): string {
  return randomBytes(9).toString('base64url');
}

/**
 * What makes a repeated submission the same job: the run, the settings, and the images with their
 * paths, since two files with the same content are two results.
 */
export function submissionKey(
  runKey: string,
  fields: Readonly<Record<string, string>>,
  images: readonly LoadedImage[],
): string {
  const hash = createHash('sha256');
  // With lengths, so that nothing can pass for something else by moving a border.
  const add = (part: string | Buffer): void => {
    hash.update(`${String(Buffer.byteLength(part))}:`).update(part);
  };
  const settings = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  add(JSON.stringify(settings));
  for (const { file, bytes } of images) {
    add(file);
    add(bytes);
  }
  return `${runKey}.${hash.digest('base64url')}`;
}
