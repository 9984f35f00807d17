import type { RawRow, ServedRow } from '../../../bench/gpu/results.js';

export function rawRow(own: Partial<RawRow>): RawRow {
  return {
    device: 'cuda',
    precision: 'fp32',
    sessions: 1,
    threads: 1,
    batch: 8,
    perSecond: 1000,
    p50Ms: 8,
    cpuMsPerImage: 1,
    ...own,
  };
}

export function servedRow(own: Partial<ServedRow>): ServedRow {
  return {
    device: 'cuda',
    setting: '',
    form: 'raw',
    concurrency: 64,
    perSecond: 1000,
    p50Ms: 20,
    p99Ms: 40,
    meanBatch: 8,
    refused: 0,
    failed: 0,
    generatorCores: 1,
    eventLoopP99Ms: 5,
    uses: [],
    decode: 4000,
    limit: 2000,
    ratio: 0.5,
    ...own,
  };
}
