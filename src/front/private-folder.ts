import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** A folder for sockets that only this user can enter. It is gone when this process is. */
export class PrivateFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'shoal-sockets-'));
  readonly #remove = (): void => {
    removeFolder(this.path);
  };

  constructor() {
    process.once('exit', this.#remove);
  }

  /** Where a socket can listen; on Windows these are pipes with names of their own. */
  socketPath(name: string): string {
    return process.platform === 'win32'
      ? `\\\\.\\pipe\\${basename(this.path)}-${name}`
      : join(this.path, name);
  }

  remove(): void {
    process.off('exit', this.#remove);
    this.#remove();
  }
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
