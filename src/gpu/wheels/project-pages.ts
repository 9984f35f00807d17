import { shownUrl } from '../net/address.js';
import { UnreachableError, WebError } from '../net/problems.js';
import { readPage } from '../net/read-body.js';
import type { Web } from '../net/web.js';
import { type IndexFile, parseHtmlPage, parseJsonPage } from './index-page.js';

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json';
const HTML_TYPE = 'application/vnd.pypi.simple.v1+html';
const ACCEPT = `${JSON_TYPE}, ${HTML_TYPE};q=0.2, text/html;q=0.1`;
const MAX_PAGE_BYTES = 64 * 2 ** 20;

/** An index gave no answer about a package, but another one did. */
export type OnSkip = (problem: string) => void;

interface Answer {
  /** `undefined` when this index does not have the package. */
  readonly files?: IndexFile[] | undefined;
  readonly problem?: Error;
}

/** The pages about packages on all indexes. One that fails does no harm while another answers. */
export class ProjectPages {
  readonly #web: Web;
  readonly #urls: readonly string[];
  readonly #onSkip: OnSkip;
  /** Indexes that cannot be reached: it is not worth waiting for them with every package. */
  readonly #dead = new Map<string, Error>();

  constructor(web: Web, urls: readonly string[], onSkip: OnSkip) {
    this.#web = web;
    this.#urls = urls;
    this.#onSkip = onSkip;
  }

  /** @throws the first problem when no index has it */
  async read(name: string): Promise<IndexFile[]> {
    const known = new Set(this.#dead.values());
    const answers = await Promise.all(this.#urls.map((url) => this.#ask(url, name)));
    const found = answers.flatMap(({ files }) => (files === undefined ? [] : [files]));
    const problems = answers.flatMap(({ problem }) => problem ?? []);
    if (found.length === 0) {
      const nowhere = `${name} is not on ${this.#urls.map(shownUrl).join(' or ')}`;
      throw problems[0] ?? new Error(nowhere);
    }
    for (const problem of problems) if (!known.has(problem)) this.#onSkip(problem.message);
    return found.flat();
  }

  async #ask(url: string, name: string): Promise<Answer> {
    const why = this.#dead.get(url);
    if (why !== undefined) return { problem: why };
    try {
      return { files: await this.#readFrom(`${url}/${name}/`) };
    } catch (error) {
      // An answer such as 403 is about this package only; some give it for those they do not have.
      if (error instanceof UnreachableError) this.#dead.set(url, error);
      return { problem: error as Error };
    }
  }

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
