import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join('src', name));

/** Files that a file imports, including types and dynamic imports. */
function importsOf(file: string, withTypes: boolean): string[] {
  const text = readFileSync(file, 'utf8');
  return [
    ...text.matchAll(/(?:^(?:import|export)\s+(type\s)?[^;]*?from\s+|import\()'(\.[^']+)\.js'/gms),
  ]
    .filter(([, isType]) => withTypes || isType === undefined)
    .map(([, , path]) => `${normalize(join(dirname(file), path ?? ''))}.ts`);
}

describe('imports', () => {
  it('have no cycles', () => {
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      expect(path, [...path, file].join(' → ')).not.toContain(file);
      if (done.has(file)) return;
      for (const next of importsOf(file, false)) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(done.size).toBe(files.length);
  });

  /** Which folders a folder may know. What is not listed may be known by all. */
  const layers: Readonly<Record<string, readonly string[]>> = {
    http: ['cli', 'server', 'index', 'front'],
    front: ['server'],
    cli: [],
    load: ['cli', 'tune'],
    tune: ['cli'],
    'engine-process': [],
    gpu: ['cli', 'devices', 'engine', 'http', 'models', 'server', 'telemetry'],
    models: ['http', 'jobs', 'cli', 'server', 'front'],
    jobs: ['http', 'cli', 'server'],
    admission: ['http', 'jobs', 'models', 'gpu', 'server', 'front'],
    devices: ['models', 'http', 'cli'],
    image: ['http', 'jobs', 'front', 'engine', 'engine-process', 'devices', 'models'],
    heads: ['http', 'jobs', 'front', 'engine', 'engine-process', 'devices', 'models', 'index'],
  };
  it.each(Object.entries(layers))('%s is known only where it may be', (folder, allowed) => {
    const folderOf = (file: string): string => file.split('/')[1]?.replace('.ts', '') ?? '';
    for (const file of files.filter((one) => folderOf(one) !== folder)) {
      if (allowed.includes(folderOf(file))) continue;
      const wrong = importsOf(file, true).filter((target) => folderOf(target) === folder);
      expect(wrong, `${file} may not import from ${folder}`).toEqual([]);
    }
  });
});

describe('files', () => {
  it('stay short', () => {
    for (const file of files) {
      expect(readFileSync(file, 'utf8').split('\n').length, file).toBeLessThanOrEqual(300);
    }
  });
});
