import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/batching.md', import.meta.url);

/** What stands between the markers of a section, without the blank lines around it. */
export function readSection(name: string): string {
  const page = readFileSync(PAGE, 'utf8');
  const [start, end] = bounds(page, name);
  return page.slice(start, end).trim();
}

export function writeSection(name: string, text: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [start, end] = bounds(page, name);
  writeFileSync(PAGE, `${page.slice(0, start)}\n\n${text}\n\n${page.slice(end)}`);
}

function bounds(page: string, name: string): [start: number, end: number] {
  const begin = `<!-- ${name}:begin -->`;
  const start = page.indexOf(begin) + begin.length;
  const end = page.indexOf(`<!-- ${name}:end -->`);
  if (start < begin.length || end < start) throw new Error(`docs/batching.md has no ${name} part`);
  return [start, end];
}
