import type { RandomAccess } from './zip/random-access.js';

const LOAD = 1;
const DYNAMIC = 2;
const NEEDED = 1n;
const STRINGS = 5n;
const STRINGS_BYTES = 10n;
const MAX_TABLE_BYTES = 16 * 2 ** 20;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly bytes: number;
}

/** The names of the libraries that a shared library (64 bits, little-endian) is linked with. */
export async function neededLibraries(file: RandomAccess): Promise<string[]> {
  const head = await file.read(0, 64);
  if (head.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error('not a shared library');
  const segments = await readSegments(file, head);
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  if (dynamic === undefined) return [];
  const entries = entriesIn(await readTable(file, dynamic.offset, dynamic.bytes));
  const valueOf = (tag: bigint): number =>
    Number(entries.find(([other]) => other === tag)?.[1] ?? 0n);
  const address = valueOf(STRINGS);
  const home = segments.find(
    ({ type, address: start, bytes }) =>
      type === LOAD && start <= address && address < start + bytes,
  );
  if (home === undefined) return [];
  const offset = address - home.address + home.offset;
  const strings = await readTable(file, offset, valueOf(STRINGS_BYTES));
  return entries
    .filter(([tag]) => tag === NEEDED)
    .map(([, at]) => strings.toString('latin1', Number(at), strings.indexOf(0, Number(at))));
}

async function readSegments(file: RandomAccess, head: Buffer): Promise<Segment[]> {
  const [size, count] = [head.readUInt16LE(54), head.readUInt16LE(56)];
  const table = await readTable(file, Number(head.readBigUInt64LE(32)), size * count);
  return Array.from({ length: count }, (_, index) => {
    const at = table.subarray(index * size);
    return {
      type: at.readUInt32LE(0),
      offset: Number(at.readBigUInt64LE(8)),
      address: Number(at.readBigUInt64LE(16)),
      bytes: Number(at.readBigUInt64LE(32)),
    };
  });
}

function entriesIn(table: Buffer): (readonly [bigint, bigint])[] {
  return Array.from(
    { length: Math.floor(table.length / 16) },
    (_, index) =>
      [table.readBigInt64LE(index * 16), table.readBigUInt64LE(index * 16 + 8)] as const,
  );
}

async function readTable(file: RandomAccess, offset: number, bytes: number): Promise<Buffer> {
  if (bytes > MAX_TABLE_BYTES) throw new Error('not a shared library');
  return file.read(offset, bytes);
}
