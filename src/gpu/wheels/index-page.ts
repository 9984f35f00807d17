import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { shownUrl } from '../net/address.js';
import { tagsIn } from './html-tags.js';

/** One file that an index offers. */
export interface IndexFile {
  readonly filename: string;
  readonly url: string;
  /** In lower case; empty where the index does not say. */
  readonly sha256: string;
  readonly bytes: number | undefined;
  readonly isYanked: boolean;
  /** Its metadata can be had without it, at its address + `.metadata`. */
  readonly hasMetadata: boolean;
}

const pageValidator = Compile(Type.Object({ files: Type.Array(Type.Unknown()) }));
const fileValidator = Compile(
  Type.Object({
    url: Type.String(),
    hashes: Type.Record(Type.String(), Type.String()),
    size: Type.Optional(Type.Unknown()),
    yanked: Type.Optional(Type.Unknown()),
    'core-metadata': Type.Optional(Type.Unknown()),
    'dist-info-metadata': Type.Optional(Type.Unknown()),
  }),
);

/** A project's page in the JSON form of the simple API (PEP 691). */
export function parseJsonPage(text: string, pageUrl: string): IndexFile[] {
  return filesIn(text, pageUrl).flatMap((file) => {
    // One odd file is no reason to do without the others.
    if (!fileValidator.Check(file)) return [];
    const metadata = file['core-metadata'] ?? file['dist-info-metadata'];
    return fileAt(file.url, pageUrl, {
      sha256: file.hashes['sha256'] ?? '',
      bytes: typeof file.size === 'number' ? file.size : undefined,
      isYanked: file.yanked !== undefined && file.yanked !== false,
      hasMetadata: metadata !== undefined && metadata !== false,
    });
  });
}

function filesIn(text: string, pageUrl: string): unknown[] {
  let page: unknown;
  try {
    page = JSON.parse(text);
  } catch (error) {
    throw new Error(`${shownUrl(pageUrl)} is not the JSON that it claims to be`, { cause: error });
  }
  if (pageValidator.Check(page)) return page.files;
  throw new Error(`${shownUrl(pageUrl)} has a list of files of an unknown form`);
}

/** The same as HTML (PEP 503), which is all that many mirrors have. */
export function parseHtmlPage(text: string, pageUrl: string): IndexFile[] {
  const tags = [...tagsIn(text)];
  const base = tags.find(({ name }) => name === 'base')?.attributes.get('href') ?? '';
  const from = URL.canParse(base, pageUrl) ? new URL(base, pageUrl).href : pageUrl;
  return tags.flatMap(({ name, attributes }) => {
    const href = attributes.get('href');
    if (name !== 'a' || href === undefined) return [];
    const metadata =
      attributes.get('data-core-metadata') ?? attributes.get('data-dist-info-metadata');
    const fragment = new URLSearchParams(href.split('#')[1] ?? '');
    return fileAt(href, from, {
      sha256: fragment.get('sha256') ?? '',
      bytes: undefined,
      isYanked: attributes.has('data-yanked'),
      hasMetadata: metadata !== undefined && metadata !== 'false',
    });
  });
}

/** Links that are none are left out: a page may well have others than to files. */
function fileAt(
  href: string,
  pageUrl: string,
  rest: Omit<IndexFile, 'filename' | 'url'>,
): IndexFile[] {
  if (!URL.canParse(href, pageUrl)) return [];
  const url = new URL(href, pageUrl);
  url.hash = '';
  const filename = url.pathname.split('/').at(-1) ?? '';
  // It becomes the name of a file; no wheel has anything else in its name.
  const name = filename.replaceAll(/%2b/gi, '+').replaceAll(/%21/g, '!');
  if (!/^https?:$/.test(url.protocol) || !/^[\w.+!-]+$/.test(name)) return [];
  return [{ ...rest, sha256: rest.sha256.toLowerCase(), filename: name, url: url.href }];
}
