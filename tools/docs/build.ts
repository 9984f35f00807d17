/** Writes the reference pages. Usage: npm run docs */
import { writeFileSync } from 'node:fs';
import { REFERENCE_PAGES } from './reference.js';

for (const [path, page] of Object.entries(REFERENCE_PAGES)) {
  writeFileSync(path, page());
  console.log(path);
}
