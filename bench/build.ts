/**
 * Writes the benchmarks as JavaScript to dist-bench/, for machines that have Node and nothing else.
 * They use the built server beside them. Types are left to `npm run check`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const source = fileURLToPath(new URL('.', import.meta.url));
const target = fileURLToPath(new URL('../dist-bench', import.meta.url));
const compilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
};

rmSync(target, { recursive: true, force: true });
for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.ts')) continue;
  const text = readFileSync(join(source, name), 'utf8');
  const { outputText } = ts.transpileModule(text, { compilerOptions, fileName: name });
  const file = join(target, name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, outputText.replaceAll(/(from '(?:\.\.\/)+)src\//g, '$1dist/'));
}
