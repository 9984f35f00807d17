import { expect } from 'vitest';

const TAG = /<(\/?)([a-zA-Z]+)((?:\s+[a-zA-Z0-9:-]+="[^"<]*")*)\s*(\/?)>/y;

/** That every tag is closed in order, attributes are quoted, and no bare `<` or `&` is left. */
export function expectWellFormed(xml: string): void {
  const open: string[] = [];
  let at = 0;
  let roots = 0;
  while (at < xml.length) {
    const next = xml.indexOf('<', at);
    const text = xml.slice(at, next < 0 ? undefined : next);
    expect(text).not.toMatch(/&(?!(?:amp|lt|gt|quot|apos|#\d+);)/);
    if (open.length === 0) expect(text.trim()).toBe('');
    if (next < 0) break;
    TAG.lastIndex = next;
    const [whole = '', closes, name = '', , isEmpty] = TAG.exec(xml) ?? [];
    expect(whole, `a tag at ${xml.slice(next, next + 40)}`).not.toBe('');
    if (closes === '/') expect(open.pop()).toBe(name);
    else {
      if (open.length === 0) roots++;
      if (isEmpty !== '/') open.push(name);
    }
    at = next + whole.length;
  }
  expect([open, roots]).toEqual([[], 1]);
}
