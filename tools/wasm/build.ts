/** npm run wasm: assembles the kernels and writes them where the code imports them from. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { assemble } from './assemble.js';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const module = await assemble(readFileSync(path('./bilinear.wat'), 'utf8'));
writeFileSync(path('../../src/image/bilinear-module.ts'), module);
