export interface HtmlTag {
  /** In lower case. */
  readonly name: string;
  /** Their names in lower case, their values as they are meant. */
  readonly attributes: ReadonlyMap<string, string>;
}

/**
 * The tags that begin something in a page, without those in comments. It is read once from the
 * beginning to the end, so that no page, however odd, takes long.
 */
export function* tagsIn(html: string): Generator<HtmlTag> {
  const start = /<(?:!--|([a-z][^\s/>]*))/gi;
  for (;;) {
    const match = start.exec(html);
    if (match === null) return;
    const [, name] = match;
    if (name === undefined) {
      const end = html.indexOf('-->', match.index + 2);
      if (end < 0) return;
      start.lastIndex = end;
    } else {
      const { attributes, end } = attributesFrom(html, start.lastIndex);
      yield { name: name.toLowerCase(), attributes };
      start.lastIndex = end;
    }
  }
}

/** Up to the `>` that is not part of a value. */
function attributesFrom(
  html: string,
  start: number,
): { attributes: ReadonlyMap<string, string>; end: number } {
  const attributes = new Map<string, string>();
  let at = start;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(html);
    at += match?.[0].length ?? 0;
    return match;
  };
  for (;;) {
    take(/[\s/=]*/y);
    const name = take(/[^\s/=>]+/y)?.[0].toLowerCase();
    if (name === undefined) return { attributes, end: at };
    const [, double, single, bare] = take(VALUE) ?? [];
    // As browsers do: of two with one name the first counts.
    if (!attributes.has(name)) attributes.set(name, unescapeHtml(double ?? single ?? bare ?? ''));
  }
}

const VALUE = /\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*))/y;

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
