import { copyFile, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { InstallFolders, InstallRecord } from '../installation.js';
import type { Wheel } from '../wheels/package-index.js';
import { readDirectory, ZipError } from '../zip/directory.js';
import { extractTo } from '../zip/extract.js';
import { LocalFile } from '../zip/random-access.js';
import { type Content, contentsOf } from './contents.js';
import { type InspectedWheel, metadataIn, requirementsOf } from './inspect-wheel.js';
import type { InstallPlan } from './plan.js';

type RecordedFile = InstallRecord['files'][number];

/** Of a wheel that is unpacked: its files, and what a plan needs to know of it. */
interface Mark {
  readonly files: readonly RecordedFile[];
  readonly metadata: string;
  readonly downloadBytes: number;
  readonly contents: readonly Content[];
}

/**
 * An installation in the making, in a folder beside the final one. It survives a crash: wheels that
 * were unpacked by then have a mark and are not fetched again.
 */
export class Staging {
  readonly #folders: InstallFolders;
  readonly #root: string;

  constructor(folders: InstallFolders) {
    this.#folders = folders;
    this.#root = `${folders.root}.staging`;
  }

  /** Keeps what an earlier attempt has left only if it was for just these wheels. */
  async begin(wheels: readonly Wheel[]): Promise<void> {
    const plan = wheels.map(({ file }) => file.sha256).join('\n');
    const path = join(this.#root, 'plan');
    const before = await readFile(path, 'utf8').catch(() => '');
    if (before === plan) return;
    await rm(this.#root, { recursive: true, force: true });
    for (const folder of ['runtime', 'nvidia', 'licences', 'marks']) {
      await mkdir(this.#folder(folder), { recursive: true });
    }
    await writeFile(path, plan);
  }

  async isUnpacked(wheel: Wheel): Promise<boolean> {
    return (await this.#mark(wheel)) !== undefined;
  }

  /** Some servers let nobody look into a wheel, and it must not be fetched for a plan again. */
  async recall(wheel: Wheel): Promise<InspectedWheel | undefined> {
    const mark = await this.#mark(wheel);
    if (mark === undefined) return undefined;
    const { metadata, downloadBytes, contents } = mark;
    return { wheel, requirements: requirementsOf(wheel, metadata), downloadBytes, contents };
  }

  /** @param path a wheel whose hash was checked */
  async unpack(wheel: Wheel, path: string, onBytes: (bytes: number) => void): Promise<void> {
    const source = await LocalFile.open(path);
    try {
      const entries = await readDirectory(source);
      const contents = contentsOf(wheel.name, entries);
      const files: RecordedFile[] = [];
      for (const content of contents) {
        const target = this.#target(wheel, content);
        await mkdir(join(this.#root, target, '..'), { recursive: true });
        await extractTo(source, content.entry, join(this.#root, target), onBytes);
        files.push({ path: target, bytes: content.entry.bytes });
      }
      const mark: Mark = {
        files,
        metadata: await metadataIn(source, entries, wheel),
        downloadBytes: source.bytes,
        contents,
      };
      await writeWhole(this.#markPath(wheel), JSON.stringify(mark));
    } catch (error) {
      if (!(error instanceof ZipError)) throw error;
      throw new ZipError(`${wheel.file.filename} cannot be unpacked: ${error.message}`);
    } finally {
      await source.close();
    }
  }

  /** From here on it is installed. */
  async finish(plan: InstallPlan, runtimeLibrary: string): Promise<InstallRecord> {
    const { machineFolders, machineLibraries } = plan;
    const wheels = plan.wheels.map(({ wheel }) => wheel);
    const marks = await Promise.all(wheels.map((wheel) => this.#mark(wheel)));
    const files = marks.flatMap((mark) => mark?.files ?? []);
    const twice = files.find(({ path }, at) => files.findIndex((one) => one.path === path) < at);
    if (twice !== undefined) throw new Error(`two wheels have the library ${basename(twice.path)}`);
    const library = join(basename(this.#folders.runtime), basename(runtimeLibrary));
    await linkOrCopy(runtimeLibrary, join(this.#root, library));
    const { size: bytes } = await stat(runtimeLibrary);
    const record: InstallRecord = {
      format: 1,
      wheels: wheels.map(({ name, version }) => ({ name, version })),
      machineFolders,
      machineLibraries,
      files: [...files, { path: library, bytes }],
    };
    await writeWhole(
      join(this.#root, basename(this.#folders.record)),
      JSON.stringify(record, undefined, 2),
    );
    // An old one is not complete, or lacks what is now wanted. Engines keep its files open.
    await rm(this.#folders.root, { recursive: true, force: true });
    await rename(this.#root, this.#folders.root);
    for (const name of ['marks', 'plan']) {
      await rm(join(this.#folders.root, name), { recursive: true });
    }
    return record;
  }

  #folder(name: string): string {
    const { runtime, nvidia, licences } = this.#folders;
    const names: Readonly<Record<string, string>> = { runtime, nvidia, licences };
    return join(this.#root, basename(names[name] ?? name));
  }

  /** Relative to the folder, which is renamed in the end. */
  #target({ name }: Wheel, { folder, target }: Content): string {
    const into = basename(this.#folder(folder));
    return folder === 'licences' ? join(into, name, target) : join(into, target);
  }

  #markPath({ file }: Wheel): string {
    return join(this.#folder('marks'), file.sha256);
  }

  async #mark(wheel: Wheel): Promise<Mark | undefined> {
    const text = await readFile(this.#markPath(wheel), 'utf8').catch(() => undefined);
    const mark = text === undefined ? undefined : (JSON.parse(text) as Partial<Mark>);
    // Versions of old marked less; then it is fetched once more.
    return mark?.files === undefined ? undefined : (mark as Mark);
  }
}

/** Either the whole text is there or nothing. */
async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { flush: true });
  await rename(`${path}.new`, path);
}

/** A link costs nothing, but does not work from one disk to another. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await rm(to, { force: true });
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to);
  }
}
