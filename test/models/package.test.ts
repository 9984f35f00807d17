import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MODEL_NAME } from '../../src/models/manifest.js';
import { BUNDLED_MODEL, readPackages } from '../../src/models/package.js';

const manifest = { head: 'ssd', input: { width: 4, height: 4 }, labels: ['a'] };

function folder(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'shoal-package-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

describe('readPackages', () => {
  it('reads the bundled model', () => {
    const [model] = readPackages(BUNDLED_MODEL);
    expect(model?.name).toBe('ssdlite-mobilenet-v2');
    expect(model?.manifest.labels).toHaveLength(80);
  });

  it('reads an .onnx file with its manifest, and a folder of packages', () => {
    const json = JSON.stringify(manifest);
    const root = folder({
      'b/shoal.json': json,
      'b/model.onnx': '',
      'a/shoal.json': json,
      'a/model.onnx': '',
    });
    expect(readPackages(root).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(readPackages(join(root, 'b', 'model.onnx')).map(({ name }) => name)).toEqual(['b']);
  });

  it.each<[string, Record<string, string>, string]>([
    ['nothing in it', {}, 'no model package'],
    ['no manifest', { 'model.onnx': '' }, 'shoal.json is missing'],
    ['no model', { 'shoal.json': JSON.stringify(manifest) }, 'model.onnx is missing'],
    ['a manifest that is no JSON', { 'shoal.json': '{', 'model.onnx': '' }, 'not valid JSON'],
    [
      'an unknown head',
      { 'shoal.json': JSON.stringify({ ...manifest, head: 'x' }), 'model.onnx': '' },
      '"head"',
    ],
    [
      'an unknown key',
      { 'shoal.json': JSON.stringify({ ...manifest, hat: 1 }), 'model.onnx': '' },
      'shoal.json',
    ],
    [
      'a name with a path in it',
      { 'shoal.json': JSON.stringify({ ...manifest, name: '../x' }), 'model.onnx': '' },
      '"name"',
    ],
  ])('says what is wrong with %s', (_name, files, message) => {
    expect(() => readPackages(folder(files))).toThrow(message);
  });

  it('says so when there is nothing at all', () => {
    expect(() => readPackages('/nowhere/at/all')).toThrow('there is no model');
  });
});

describe('MODEL_NAME', () => {
  it.each(['', '..', '.a', '-a', 'A', 'a/b', 'a\\b', 'a b', 'a\0', 'é', 'a'.repeat(65)])(
    'refuses %j',
    (name) => {
      expect(MODEL_NAME.test(name)).toBe(false);
    },
  );
});
