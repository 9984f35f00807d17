import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAmdGpus } from '../../src/gpu/memory-amd.js';

const GiB = 2 ** 30;

describe('amdgpu', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'shoal-drm-'));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });
  const addCard = (name: string, files: Record<string, string | number>): void => {
    mkdirSync(join(root, name, 'device'), { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(root, name, 'device', file), `${String(text)}\n`);
    }
  };
  const card = {
    vendor: '0x1002',
    device: '0x744c',
    mem_info_vram_used: GiB,
    mem_info_vram_total: 16 * GiB,
  };

  it('tells the memory of its cards, counted in their order', async () => {
    addCard('card10', { ...card, product_name: 'Big One', gpu_busy_percent: 50, unique_id: 'ab' });
    addCard('card2', card);
    addCard('card2-DP-1', card);
    const common = { vendor: 'amd', usedBytes: GiB, totalBytes: 16 * GiB };
    expect(await readAmdGpus(root)).toEqual([
      { ...common, index: 0, name: 'AMD GPU 0x744c', uuid: '' },
      { ...common, index: 1, name: 'Big One', uuid: 'ab', utilization: 0.5 },
    ]);
  });

  it('leaves out what is of another vendor, incomplete or impossible', async () => {
    addCard('card0', { ...card, vendor: '0x10de' });
    addCard('card1', { vendor: '0x1002', mem_info_vram_total: 16 * GiB });
    addCard('card2', { ...card, mem_info_vram_used: 'N/A' });
    addCard('card3', { ...card, mem_info_vram_used: 17 * GiB });
    expect(await readAmdGpus(root)).toEqual([]);
  });

  it('leaves out processors whose graphics share the memory of the machine', async () => {
    addCard('card0', { ...card, mem_info_vram_used: 0, mem_info_vram_total: GiB / 2 });
    expect(await readAmdGpus(root)).toEqual([]);
  });

  it('is nothing where there is no such folder', async () => {
    expect(await readAmdGpus(join(root, 'none'))).toEqual([]);
  });
});
