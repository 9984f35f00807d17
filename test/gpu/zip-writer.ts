import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipFile {
  readonly name: string;
  readonly data: Buffer;
  readonly isStored?: boolean;
  /** What the directory claims instead of the truth. */
  readonly claims?: { readonly bytes?: number; readonly crc32?: number; readonly mode?: number };
  readonly flags?: number;
}

/** An archive as tools for wheels write it; with `is64` in the form for large ones. */
export function writeZip(files: readonly ZipFile[], { is64 = false, comment = '' } = {}): Buffer {
  const bodies: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const name = Buffer.from(file.name);
    const packed = file.isStored === true ? file.data : deflateRawSync(file.data);
    const crc = file.claims?.crc32 ?? crc32(file.data);
    const bytes = file.claims?.bytes ?? file.data.length;
    const method = file.isStored === true ? 0 : 8;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    const extra = is64 ? extra64(bytes, packed.length, offset) : Buffer.alloc(0);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(file.flags ?? 0, 8);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(crc, 16);
    entry.writeUInt32LE(is64 ? 0xffffffff : packed.length, 20);
    entry.writeUInt32LE(is64 ? 0xffffffff : bytes, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(extra.length, 30);
    entry.writeUInt32LE(((file.claims?.mode ?? 0o100644) << 16) >>> 0, 38);
    entry.writeUInt32LE(is64 ? 0xffffffff : offset, 42);
    entries.push(entry, name, extra);
    bodies.push(local, name, packed);
    offset += local.length + name.length + packed.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(is64 ? 0xffff : files.length, 10);
  end.writeUInt32LE(is64 ? 0xffffffff : directory.length, 12);
  end.writeUInt32LE(is64 ? 0xffffffff : offset, 16);
  end.writeUInt16LE(comment.length, 20);
  const end64 = is64 ? endOf64(files.length, directory.length, offset) : Buffer.alloc(0);
  return Buffer.concat([...bodies, directory, end64, end, Buffer.from(comment)]);
}

function extra64(...values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  values.forEach((value, at) => extra.writeBigUInt64LE(BigInt(value), 4 + 8 * at));
  return extra;
}

function endOf64(count: number, bytes: number, offset: number): Buffer {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(bytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  return Buffer.concat([record, locator]);
}
