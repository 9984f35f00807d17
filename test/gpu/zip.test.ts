import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isSafeName, readDirectory, type ZipEntry, ZipError } from '../../src/gpu/zip/directory.js';
import { extractTo, readEntry } from '../../src/gpu/zip/extract.js';
import type { RandomAccess } from '../../src/gpu/zip/random-access.js';
import { writeZip, type ZipFile } from './zip-writer.js';

/** Reads as a file does: what is asked for or an error. */
function inMemory(data: Buffer): RandomAccess {
  return {
    bytes: data.length,
    read: (offset, length) => {
      const piece = data.subarray(offset, offset + length);
      if (piece.length < length) return Promise.reject(new Error('the file ends too early'));
      return Promise.resolve(piece);
    },
  };
}

async function unzip(data: Buffer): Promise<Record<string, string>> {
  const source = inMemory(data);
  const files: Record<string, string> = {};
  for (const entry of await readDirectory(source)) {
    files[entry.name] = (await readEntry(source, entry, 2 ** 20)).toString();
  }
  return files;
}

const file = (name: string, text: string, rest: Partial<ZipFile> = {}): ZipFile => ({
  name,
  data: Buffer.from(text),
  ...rest,
});

describe('a zip archive', () => {
  it.each([{}, { is64: true }, { comment: 'made by hand' }, { is64: true, comment: 'PK' }])(
    'is read with its stored and deflated files: %o',
    async (options) => {
      const files = [
        file('a/lib/libx.so.1', 'x'.repeat(5000)),
        file('b.txt', 'stored', { isStored: true }),
        file('empty', ''),
      ];
      expect(await unzip(writeZip(files, options))).toEqual({
        'a/lib/libx.so.1': 'x'.repeat(5000),
        'b.txt': 'stored',
        empty: '',
      });
    },
  );

  it('gives back whatever was put in', async () => {
    const content = fc.array(
      fc.record({ data: fc.uint8Array({ maxLength: 200 }), isStored: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(content, fc.boolean(), async (contents, is64) => {
        const files = contents.map(({ data, isStored }, at) => ({
          name: `f${String(at)}`,
          data: Buffer.from(data),
          isStored,
        }));
        const source = inMemory(writeZip(files, { is64 }));
        const entries = await readDirectory(source);
        const read = await Promise.all(entries.map((entry) => readEntry(source, entry, 1000)));
        expect(read).toEqual(files.map(({ data }) => data));
      }),
      { numRuns: 50 },
    );
  });
});

describe('a hostile zip archive', () => {
  it.each(['../evil.so', '/etc/evil', 'a/../../evil', 'a\\..\\evil', 'C:evil', 'a\0b', './x', ''])(
    'is refused for the name %j',
    async (name) => {
      await expect(unzip(writeZip([file(name, 'x')]))).rejects.toThrow(ZipError);
      expect(isSafeName(name)).toBe(false);
    },
  );

  it('is refused for a link and for an encrypted file', async () => {
    const link = writeZip([file('lib/x.so', '/etc/passwd', { claims: { mode: 0o120777 } })]);
    await expect(unzip(link)).rejects.toThrow(/no wheel has/);
    await expect(unzip(writeZip([file('x', 'x', { flags: 1 })]))).rejects.toThrow(/no wheel has/);
  });

  it('is refused for a wrong checksum', async () => {
    const zip = writeZip([file('x', 'content', { claims: { crc32: 1 } })]);
    await expect(unzip(zip)).rejects.toThrow('x is damaged');
  });

  it('is stopped when it unpacks into more than it announces', async () => {
    const bomb = file('x', '0'.repeat(10 * 2 ** 20), { claims: { bytes: 100 } });
    const source = inMemory(writeZip([bomb]));
    const [entry] = await readDirectory(source);
    await expect(readEntry(source, entry as ZipEntry, 2 ** 20)).rejects.toThrow(/larger than/);
  });

  it('is refused when it announces more than may be held in memory', async () => {
    const source = inMemory(writeZip([file('x', 'x', { claims: { bytes: 2 ** 31 } })]));
    const [entry] = await readDirectory(source);
    await expect(readEntry(source, entry as ZipEntry, 1000)).rejects.toThrow(/too large/);
  });

  it('is refused for a way of packing that is not known', async () => {
    const source = inMemory(writeZip([file('x', 'x')]));
    const [entry] = await readDirectory(source);
    const odd = { ...(entry as ZipEntry), method: 14 };
    await expect(readEntry(source, odd, 1000)).rejects.toThrow(/unknown way/);
  });

  it('is refused wherever it is cut off, and never hangs or reads outside of it', async () => {
    const whole = writeZip([file('a', 'some text '.repeat(50)), file('b', 'b')]);
    for (let length = 0; length < whole.length; length++) {
      await expect(unzip(whole.subarray(0, length))).rejects.toThrow();
    }
  });

  it('gives an error or unharmed files whichever byte is changed', async () => {
    const whole = writeZip([
      file('a', 'some text '.repeat(20)),
      file('b', 'stored', { isStored: true }),
    ]);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(whole.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const changed = Buffer.from(whole);
          changed[at] = (changed[at] ?? 0) ^ by;
          const contents = await unzip(changed).then(Object.values, () => []);
          for (const text of contents)
            expect(['some text '.repeat(20), 'stored', '']).toContain(text);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a file of an archive', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'shoal-zip-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is written piece by piece, and replaces what an earlier attempt has left', async () => {
    const text = 'library '.repeat(400_000);
    const source = inMemory(writeZip([file('x', text)]));
    const [entry] = await readDirectory(source);
    const path = join(folder, 'x');
    const pieces: number[] = [];
    for (let attempt = 0; attempt < 2; attempt++) {
      await extractTo(source, entry as ZipEntry, path, (bytes) => pieces.push(bytes));
    }
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(2 ** 20);
    expect(pieces.reduce((sum, bytes) => sum + bytes)).toBe(2 * text.length);
  });
});
