import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { wasStopped } from '../../../src/jobs/embedded/claims.js';
import { Operations } from '../../../src/jobs/embedded/operations.js';
import { LIMITS, newJob } from '../../helpers/jobs.js';

const HOUR = 3_600_000;

let folder: string;
const open = (): Operations => new Operations({ folder, limits: LIMITS, isFirst: true });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-clock-'));
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

describe('a process that was stopped', () => {
  it('is known by the time since it last looked', () => {
    expect(wasStopped(500, 500, 2000)).toBe(false);
    expect(wasStopped(1100, 500, 2000)).toBe(false);
    expect(wasStopped(1200, 500, 2000)).toBe(true);
  });

  it('keeps the jobs that it runs', () => {
    const operations = open();
    operations.submit(newJob());
    const [taken] = operations.take('m', 1).jobs;
    vi.setSystemTime(Date.now() + LIMITS.leaseMs + 1);
    operations.sweep(true);
    operations.sweep(false);
    expect(operations.get(taken?.job.id ?? '')).toMatchObject({ state: 'running', losses: 0 });
    vi.setSystemTime(Date.now() + LIMITS.leaseMs + 1);
    operations.sweep(false);
    expect(operations.get(taken?.job.id ?? '')).toMatchObject({ state: 'queued', losses: 1 });
    operations.database.close();
  });
});

describe('a clock that was ahead and is set back', () => {
  it('does not keep lost jobs waiting', () => {
    const right = Date.now();
    const operations = open();
    operations.submit(newJob({ expiresAt: right + 24 * HOUR }));
    expect(operations.take('m', 1).jobs).toHaveLength(1);
    vi.setSystemTime(right + 2 * HOUR);
    operations.sweep(false);
    vi.setSystemTime(right);
    expect(operations.take('m', 1).jobs).toMatchObject([{ job: { losses: 1 } }]);
    operations.database.close();
  });

  it('does not keep released jobs waiting', () => {
    const right = Date.now();
    const operations = open();
    operations.submit(newJob({ expiresAt: right + 24 * HOUR }));
    vi.setSystemTime(right + 2 * HOUR);
    for (const { job, token } of operations.take('m', 1).jobs) {
      operations.settle({ id: job.id, token }, { kind: 'released' });
    }
    vi.setSystemTime(right);
    expect(operations.take('m', 1).jobs).toHaveLength(1);
    operations.database.close();
  });
});
