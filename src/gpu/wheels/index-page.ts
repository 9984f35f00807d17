import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

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

const PageSchema = Type.Object({
  files: Type.Array(
    Type.Object({
      filename: Type.String(),
      url: Type.String(),
      hashes: Type.Record(Type.String(), Type.String()),
      size: Type.Optional(Type.Number()),
      yanked: Type.Optional(Type.Unknown()),
      'core-metadata': Type.Optional(Type.Unknown()),
      'dist-info-metadata': Type.Optional(Type.Unknown()),
    }),
  ),
});
const validator = Compile(PageSchema);

/** A project's page in the JSON form of the simple API (PEP 691). */
export function parseJsonPage(text: string, pageUrl: string): IndexFile[] {
  const page: unknown = JSON.parse(text);
  if (!validator.Check(page)) throw new Error('its list of files has an unknown form');
  return page.files.flatMap((file) => {
    const metadata = file['core-metadata'] ?? file['dist-info-metadata'];
    return fileAt(file.url, pageUrl, {
      sha256: file.hashes['sha256'] ?? '',
      bytes: file.size,
      isYanked: file.yanked !== undefined && file.yanked !== false,
      hasMetadata: metadata !== undefined && metadata !== false,
    });
  });
}

/** The same as HTML (PEP 503), which is all that many mirrors have. */
export function parseHtmlPage(text: string, pageUrl: string): IndexFile[] {
  const base = /<base\s[^>]*href\s*=\s*["']([^"']*)["']/i.exec(text)?.[1];
  const from = base === undefined ? pageUrl : new URL(unescapeHtml(base), pageUrl).href;
  return [...text.matchAll(/<a\s([^>]*)>/gi)].flatMap(([, attributes = '']) => {
    const all = attributesIn(attributes);
    const metadata = all.get('data-core-metadata') ?? all.get('data-dist-info-metadata');
    const href = all.get('href') ?? '';
    return fileAt(href, from, {
      sha256: /#(?:.*&)?sha256=([0-9a-f]+)/i.exec(href)?.[1] ?? '',
      bytes: undefined,
      isYanked: all.has('data-yanked'),
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

function attributesIn(text: string): ReadonlyMap<string, string> {
  const found = text.matchAll(/([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g);
  return new Map(
    [...found].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescapeHtml(double ?? single ?? bare ?? ''),
    ]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function unescapeHtml(text: string): string {
  return text
    .replaceAll(/&#x([0-9a-f]{1,5});/gi, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    )
    .replaceAll(/&#(\d{1,6});/g, (_, decimal: string) => String.fromCodePoint(Number(decimal)))
    .replaceAll(/&(\w+);/g, (all: string, name: string) => ENTITIES[name] ?? all);
}
