import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GpuReading } from './memory-reading.js';

export const DRM_FOLDER = '/sys/class/drm';
const AMD = '0x1002';
/** Less is a window that a processor with graphics cuts out of the machine's own memory. */
const LEAST_BYTES = 2 * 2 ** 30;

/** GPUs of the amdgpu driver, in the order of their cards. Rejects never. */
export async function readAmdGpus(folder: string): Promise<GpuReading[]> {
  const names = await readdir(folder).catch(() => []);
  const cards = names
    .filter((name) => /^card\d+$/.test(name))
    .sort((one, other) => Number(one.slice(4)) - Number(other.slice(4)));
  const found = await Promise.all(cards.map((card) => readCard(join(folder, card, 'device'))));
  return found.filter((one) => one !== undefined).map((one, index) => ({ ...one, index }));
}

async function readCard(folder: string): Promise<Omit<GpuReading, 'index'> | undefined> {
  const read = async (name: string): Promise<string> =>
    (await readFile(join(folder, name), 'utf8').catch(() => '')).trim();
  if ((await read('vendor')) !== AMD) return undefined;
  const [used, total, busy, product, device, uuid] = await Promise.all([
    read('mem_info_vram_used').then(toNumber),
    read('mem_info_vram_total').then(toNumber),
    read('gpu_busy_percent').then(toNumber),
    read('product_name'),
    read('device'),
    read('unique_id'),
  ]);
  if (used === undefined || total === undefined) return undefined;
  if (total < LEAST_BYTES || used > total) return undefined;
  return {
    vendor: 'amd',
    uuid,
    name: product === '' ? `AMD GPU ${device}`.trim() : product,
    usedBytes: used,
    totalBytes: total,
    ...(busy !== undefined && busy <= 100 && { utilization: busy / 100 }),
  };
}

function toNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
