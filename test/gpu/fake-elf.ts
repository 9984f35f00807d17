/** A shared library with nothing in it but the name of one that it needs. */
export function fakeElf(needed: string): Buffer {
  const names = Buffer.from(`\0${needed}\0`);
  const [segmentsAt, dynamicAt, namesAt] = [64, 64 + 2 * 56, 64 + 2 * 56 + 3 * 16];
  const file = Buffer.alloc(namesAt + names.length);
  file.write('\x7fELF\x02\x01', 'latin1');
  file.writeBigUInt64LE(BigInt(segmentsAt), 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(2, 56);
  const segment = (at: number, type: number, offset: number, bytes: number): void => {
    file.writeUInt32LE(type, at);
    file.writeBigUInt64LE(BigInt(offset), at + 8);
    file.writeBigUInt64LE(BigInt(offset), at + 16);
    file.writeBigUInt64LE(BigInt(bytes), at + 32);
  };
  segment(segmentsAt, 1, 0, file.length);
  segment(segmentsAt + 56, 2, dynamicAt, 3 * 16);
  // The name that is needed, and where the names are and how long.
  const entries = [
    [1, 1],
    [5, namesAt],
    [10, names.length],
  ] as const;
  for (const [index, [tag, value]] of entries.entries()) {
    file.writeBigInt64LE(BigInt(tag), dynamicAt + index * 16);
    file.writeBigUInt64LE(BigInt(value), dynamicAt + index * 16 + 8);
  }
  names.copy(file, namesAt);
  return file;
}
