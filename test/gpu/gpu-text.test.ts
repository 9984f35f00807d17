import { describe, expect, it } from 'vitest';
import { planText, waitingText } from '../../src/cli/gpu-text.js';
import type { PlannedWheel } from '../../src/gpu/install/plan.js';

const MiB = 2 ** 20;
const file = { filename: '', url: '', sha256: '', bytes: 1, isYanked: false, hasMetadata: false };
const planned = (downloadBytes?: number, unpackedBytes?: number): PlannedWheel => ({
  wheel: { name: 'nvidia-x', version: '1.0', file },
  downloadBytes,
  unpackedBytes,
});
const totals = (...wheels: PlannedWheel[]): string => {
  const none = { present: [], machineFolders: [], machineLibraries: [] };
  const text = planText({ runtimeVersion: '1.30.0', wheels, ...none });
  return text.split('\n').at(-1)?.trim().replaceAll(/ +/g, ' ') ?? '';
};

describe('the sizes of a plan', () => {
  it('are added up as far as they are known', () => {
    expect(totals(planned(MiB, 2 * MiB), planned(MiB, MiB))).toBe('2 packages 2 MiB 3 MiB');
    expect(totals(planned(MiB), planned(MiB))).toBe('2 packages 2 MiB ?');
    expect(totals(planned(MiB), planned())).toBe('2 packages at least 1 MiB ?');
    expect(totals(planned(MiB, MiB), planned(MiB))).toBe('2 packages 2 MiB at least 1 MiB');
  });
});

describe('whoever waits', () => {
  it('is told for whom, where that is known', () => {
    expect(waitingText(12)).toBe('waiting for process 12, which is installing');
    expect(waitingText(undefined)).toBe('waiting for another process, which is installing');
  });
});
