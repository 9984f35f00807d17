import { BILINEAR_MODULE } from './bilinear-module.js';
import { type AxisTable, ONE } from './axis-table.js';
import type { Pixels } from './pixels.js';
import { type Memory, WebAssembly } from './web-assembly.js';

const PAGE_BYTES = 65_536;
const COLUMN_BYTES = 16;
const ROW_BYTES = 16;
/** The kernel reads and writes 16 bytes at a time, and four columns. */
const STEP_BYTES = 16;
const STEP_COLUMNS = 4;
const SPARE_BYTES = 64;
/** What a byte becomes between the two passes. */
const SUM_BYTES = 4;
/** Larger pictures take the slow way, so that a thread never keeps much more than this. */
export const MAX_SOURCE_BYTES = 8 * 2 ** 20;
const MAX_TARGET_BYTES = 16 * 2 ** 20;
const MAX_ROW_BYTES = 2 ** 16;

interface Kernel {
  readonly memory: Memory;
  resize(
    from: number,
    rowBytes: number,
    to: number,
    width: number,
    columns: number,
    columnsEnd: number,
    rows: number,
    rowsEnd: number,
    scratch: number,
  ): void;
}

/** The source always lies at the beginning, so that pictures can be decoded right there. */
const TABLES_AT = MAX_SOURCE_BYTES + SPARE_BYTES;
let kernel: Kernel | undefined;
let isMissing = false;

/** One for each thread, made when it is first needed. `undefined` where there can be none. */
function load(): Kernel | undefined {
  if (kernel !== undefined || isMissing) return kernel;
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(TABLES_AT / PAGE_BYTES) });
    const module = new WebAssembly.Module(Buffer.from(BILINEAR_MODULE, 'base64'));
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    kernel = { memory, resize: exports['resize'] as Kernel['resize'] };
  } catch {
    // No SIMD, or not enough address space: the slow way gives the same pixels.
    isMissing = true;
  }
  return kernel;
}

/**
 * Memory for a picture that is to be resized, which saves it a copy. It is valid until the next
 * picture. `undefined` when the picture is too large or there is no kernel.
 */
export function kernelMemory(bytes: number): Buffer | undefined {
  if (bytes > MAX_SOURCE_BYTES) return undefined;
  const memory = load()?.memory;
  return memory === undefined ? undefined : Buffer.from(memory.buffer, 0, bytes);
}

/** Resizes unless the pictures are too large or there is no kernel. */
export function resizeWithKernel(
  source: Pixels,
  target: Pixels,
  columns: AxisTable,
  rows: AxisTable,
): boolean {
  const rowBytes = source.width * 3;
  const targetBytes = target.width * target.height * 3;
  const sourceBytes = rowBytes * source.height;
  if (sourceBytes > MAX_SOURCE_BYTES || targetBytes > MAX_TARGET_BYTES) return false;
  const loaded = rowBytes > MAX_ROW_BYTES ? undefined : load();
  if (loaded === undefined) return false;
  const { memory } = loaded;
  const isInPlace = source.data.buffer === memory.buffer && source.data.byteOffset === 0;

  const rowsAt = TABLES_AT + upTo(STEP_COLUMNS, target.width) * COLUMN_BYTES;
  const rowsEnd = rowsAt + target.height * ROW_BYTES;
  const targetAt = rowsEnd + upTo(STEP_BYTES, rowBytes) * SUM_BYTES + SPARE_BYTES;
  // Growing keeps what is in there, but not the views on it.
  grow(memory, targetAt + targetBytes + SPARE_BYTES);
  const bytes = new Uint8Array(memory.buffer);
  if (!isInPlace) bytes.set(source.data.subarray(0, sourceBytes), 0);
  bytes.set(packColumns(columns), TABLES_AT);
  bytes.set(packRows(rows), rowsAt);
  loaded.resize(0, rowBytes, targetAt, target.width, TABLES_AT, rowsAt, rowsAt, rowsEnd, rowsEnd);
  target.data.set(bytes.subarray(targetAt, targetAt + targetBytes));
  return true;
}

function upTo(step: number, value: number): number {
  return Math.ceil(value / step) * step;
}

function grow(memory: Memory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
}

const packed = new WeakMap<AxisTable, Uint8Array>();

/** As the kernel wants it; made once for each table. */
function packColumns(table: AxisTable): Uint8Array {
  return remember(table, () => {
    const { length } = table.near;
    const numbers = new Int32Array((upTo(STEP_COLUMNS, length) * COLUMN_BYTES) / 4);
    for (let index = 0; index < length; index++) {
      numbers[index * 4] = (table.near[index] as number) * SUM_BYTES;
      numbers[index * 4 + 1] = (table.far[index] as number) * SUM_BYTES;
      numbers[index * 4 + 2] = table.weight[index] as number;
    }
    return numbers;
  });
}

function packRows(table: AxisTable): Uint8Array {
  return remember(table, () => {
    const numbers = new Int32Array((table.near.length * ROW_BYTES) / 4);
    for (let index = 0; index < table.near.length; index++) {
      const far = table.weight[index] as number;
      numbers[index * 4] = table.near[index] as number;
      numbers[index * 4 + 1] = table.far[index] as number;
      numbers[index * 4 + 2] = (ONE - far) | (far << 16);
    }
    return numbers;
  });
}

function remember(table: AxisTable, make: () => Int32Array): Uint8Array {
  const known = packed.get(table);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(make().buffer);
  packed.set(table, bytes);
  return bytes;
}
