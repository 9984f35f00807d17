import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { makeFolder } from '../config/make-folder.js';
import type { Profile } from './profile.js';

/** What a profile is true for. A change of any of these makes another profile. */
export interface ProfileKey {
  readonly modelSha256: string;
  readonly runtime: string;
  readonly device: string;
  readonly machine: string;
  /** What was set by hand, which decides what is measured. */
  readonly scope: string;
}

/** Raised when the meaning of what is stored changes. */
const FORMAT = 2;

const count = Type.Integer({ minimum: 1 });
const StoredSchema = Type.Object({
  format: Type.Literal(FORMAT),
  key: Type.Object({
    modelSha256: Type.String(),
    runtime: Type.String(),
    device: Type.String(),
    machine: Type.String(),
    scope: Type.String(),
  }),
  profile: Type.Object({
    provider: Type.String(),
    measuredAt: Type.String(),
    depth: Type.Enum(['quick', 'full']),
    decodeMs: Type.Number({ minimum: 0 }),
    splits: Type.Array(
      Type.Object({
        sessions: count,
        threads: count,
        points: Type.Array(
          Type.Object({
            batch: count,
            ms: Type.Number({ exclusiveMinimum: 0 }),
            runs: count,
            rssBytes: Type.Number({ minimum: 0 }),
          }),
          { minItems: 1 },
        ),
      }),
      { minItems: 1 },
    ),
  }),
});
const validator = Compile(StoredSchema);

/** Profiles as files in a folder. A file that is damaged or for something else does not count. */
export class ProfileCache {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async read(key: ProfileKey): Promise<Profile | undefined> {
    try {
      const path = this.#pathOf(key);
      // Of anything else, such as a pipe, reading might never end.
      if (!(await stat(path)).isFile()) return undefined;
      const stored: unknown = JSON.parse(await readFile(path, 'utf8'));
      if (!validator.Check(stored)) return undefined;
      return JSON.stringify(stored.key) === JSON.stringify(plain(key)) ? stored.profile : undefined;
    } catch {
      return undefined;
    }
  }

  /** Readers see the old file or the new one, never half of it. */
  async write(key: ProfileKey, profile: Profile): Promise<void> {
    await this.#makeFolder();
    const path = this.#pathOf(key);
    const draft = `${path}.${randomUUID()}`;
    const stored = { format: FORMAT, key: plain(key), profile };
    await writeFile(draft, `${JSON.stringify(stored, undefined, 2)}\n`);
    await rename(draft, path);
  }

  async #makeFolder(): Promise<void> {
    try {
      await makeFolder(this.folder);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`${this.folder} cannot be used as cache folder: ${message}`, {
        cause: error,
      });
    }
  }

  #pathOf(key: ProfileKey): string {
    const name = createHash('sha256')
      .update(JSON.stringify(plain(key)))
      .digest('hex');
    return join(this.folder, `profile-${name.slice(0, 32)}.json`);
  }
}

/** In one order, so that it can be compared as text. */
function plain({ modelSha256, runtime, device, machine, scope }: ProfileKey): ProfileKey {
  return { modelSha256, runtime, device, machine, scope };
}
