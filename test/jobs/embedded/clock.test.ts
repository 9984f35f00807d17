import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Operations } from '../../../src/jobs/embedded/operations.js';
import { LIMITS, newJob } from '../../helpers/jobs.js';

const HOUR = 3_600_000;

describe('a clock that was ahead and is set back', () => {
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

  it('does not keep lost jobs waiting', () => {
    const right = Date.now();
    const operations = open();
    operations.submit(newJob({ expiresAt: right + 24 * HOUR }));
    expect(operations.take('m', 1).jobs).toHaveLength(1);
    vi.setSystemTime(right + 2 * HOUR);
    operations.sweep();
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
