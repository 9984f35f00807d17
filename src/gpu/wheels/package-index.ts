import { shownUrl } from '../net/address.js';
import { WebError } from '../net/problems.js';
import { readPage } from '../net/read-body.js';
import type { Web } from '../net/web.js';
import { type IndexFile, parseHtmlPage, parseJsonPage } from './index-page.js';
import type { Specifier } from './specifier.js';
import { compareVersions, isStable } from './version.js';
import { fits, neededGlibc, parseWheelName, type Platform, type WheelName } from './wheel-name.js';

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json';
const HTML_TYPE = 'application/vnd.pypi.simple.v1+html';
const ACCEPT = `${JSON_TYPE}, ${HTML_TYPE};q=0.2, text/html;q=0.1`;
const MAX_PAGE_BYTES = 64 * 2 ** 20;

export interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly file: IndexFile;
}

/** One or several package indexes, asked as pip asks them: the best of all wins. */
export class PackageIndex {
  readonly #web: Web;
  readonly #urls: readonly string[];
  readonly #pages = new Map<string, Promise<IndexFile[]>>();

  constructor(web: Web, urls: readonly string[]) {
    this.#web = web;
    this.#urls = urls;
  }

  /** @throws an Error that says why there is none */
  async newest(name: string, wanted: readonly Specifier[], platform: Platform): Promise<Wheel> {
    const page = this.#pages.get(name) ?? this.#read(name);
    this.#pages.set(name, page);
    return newestWheel(name, await page, wanted, platform);
  }

  async #read(name: string): Promise<IndexFile[]> {
    const pages = await Promise.all(this.#urls.map((url) => this.#readFrom(`${url}/${name}/`)));
    const found = pages.filter((page) => page !== undefined);
    if (found.length > 0) return found.flat();
    throw new Error(`${name} is not on ${this.#urls.map(shownUrl).join(' or ')}`);
  }

  /** `undefined` when this index does not have it. */
  async #readFrom(url: string): Promise<IndexFile[] | undefined> {
    try {
      const page = await readPage(this.#web, url, ACCEPT, MAX_PAGE_BYTES);
      const isJson = page.contentType.includes('json');
      return (isJson ? parseJsonPage : parseHtmlPage)(page.text, page.url);
    } catch (error) {
      if (!(error instanceof WebError)) throw error;
      if (error.status === 404) return undefined;
      // Some old mirrors take the first wish for the only one.
      if (error.status !== 406) throw error;
      const page = await readPage(this.#web, url, 'text/html', MAX_PAGE_BYTES);
      return parseHtmlPage(page.text, page.url);
    }
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
