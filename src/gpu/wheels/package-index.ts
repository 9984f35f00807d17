import type { Web } from '../net/web.js';
import type { IndexFile } from './index-page.js';
import { type OnSkip, ProjectPages } from './project-pages.js';
import type { Specifier } from './specifier.js';
import { compareVersions, isStable } from './version.js';
import { fits, neededGlibc, parseWheelName, type Platform, type WheelName } from './wheel-name.js';

export interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly file: IndexFile;
}

/** One or several package indexes, asked as pip asks them: the best of all wins. */
export class PackageIndex {
  readonly #pages: ProjectPages;
  readonly #files = new Map<string, Promise<IndexFile[]>>();

  constructor(web: Web, urls: readonly string[], onSkip: OnSkip) {
    this.#pages = new ProjectPages(web, urls, onSkip);
  }

  /** @throws an Error that says why there is none */
  async newest(name: string, wanted: readonly Specifier[], platform: Platform): Promise<Wheel> {
    const files = this.#files.get(name) ?? this.#pages.read(name);
    this.#files.set(name, files);
    return newestWheel(name, await files, wanted, platform);
  }
}

interface Candidate {
  readonly file: IndexFile;
  readonly wheel: WheelName;
}

/** The newest version that all accept, and of its files one for this platform. */
export function newestWheel(
  name: string,
  files: readonly IndexFile[],
  wanted: readonly Specifier[],
  platform: Platform,
): Wheel {
  const isPinned = wanted.some(({ isPin }) => isPin);
  const candidates = files
    .flatMap((file): Candidate[] => {
      const wheel = parseWheelName(file.filename);
      return wheel?.name === name ? [{ file, wheel }] : [];
    })
    .filter(({ wheel, file }) => isStable(wheel.version) && (isPinned || !file.isYanked))
    .filter(({ wheel }) => wanted.every((specifier) => specifier.allows(wheel.version)));
  const [best] = candidates
    .filter(({ wheel }) => fits(wheel, platform))
    .sort(
      (a, b) =>
        // What was withdrawn is taken only when nothing else fits (PEP 592).
        Number(a.file.isYanked) - Number(b.file.isYanked) ||
        compareVersions(b.wheel.version, a.wheel.version) ||
        // Always the same one, or a second attempt could not go on with what the first has fetched.
        (a.file.filename < b.file.filename ? -1 : 1),
    );
  if (best === undefined) throw new Error(whyNone(name, candidates, wanted, platform));
  const { file, wheel } = best;
  if (!/^[0-9a-f]{64}$/.test(file.sha256)) {
    throw new Error(`the index has no SHA-256 for ${file.filename}, so it cannot be checked`);
  }
  return { name, version: wheel.version.text, file };
}

function whyNone(
  name: string,
  candidates: readonly Candidate[],
  wanted: readonly Specifier[],
  { arch, glibc }: Platform,
): string {
  const versions = wanted.map(({ text }) => text).join(',');
  if (candidates.length === 0) return `the index has no wheel of ${name} ${versions}`.trim();
  const [least] = candidates.flatMap(({ wheel }) => neededGlibc(wheel, arch) ?? []).sort();
  return least === undefined
    ? `there is no wheel of ${name} ${versions} for Linux on ${arch}`
    : `${name} ${versions} needs glibc ${least}; this system has ${glibc}`;
}
