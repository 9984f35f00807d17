import { type FileHandle, open } from 'node:fs/promises';

/** Bytes that can be read from anywhere: a file here, or one on a server that knows ranges. */
export interface RandomAccess {
  readonly bytes: number;
  /** @throws when there are fewer */
  read(offset: number, length: number): Promise<Buffer>;
}

export class LocalFile implements RandomAccess {
  readonly bytes: number;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, bytes: number) {
    this.#handle = handle;
    this.bytes = bytes;
  }

  static async open(path: string): Promise<LocalFile> {
    const handle = await open(path, 'r');
    return new LocalFile(handle, (await handle.stat()).size);
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.#handle.read(
        buffer,
        filled,
        length - filled,
        offset + filled,
      );
      if (bytesRead === 0) throw new Error('the file ends too early');
      filled += bytesRead;
    }
    return buffer;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
