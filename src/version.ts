import { readFileSync } from 'node:fs';

/** From package.json, which lies beside both `src` and `dist`. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  }
).version;
