import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../src/jobs/embedded/database.js';
import { JobTable } from '../../../src/jobs/embedded/job-table.js';
import { migrate } from '../../../src/jobs/embedded/schema.js';
import { cancel, listQuery, submit } from '../../../src/jobs/embedded/submissions.js';
import { LIMITS, newJob } from '../../helpers/jobs.js';

describe('the tables of the embedded store', () => {
  let folder: string;
  let database: Database;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'shoal-schema-'));
    database = new Database(join(folder, 'jobs.sqlite'));
  });
  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  const planOf = (query: string, values: number): string =>
    database
      .all(`explain query plan ${query}`, ...Array<number>(values).fill(0))
      .map((row) => row['detail'])
      .join('; ');

  it('count what is in a database of the first version', () => {
    migrate(database, 1);
    const table = new JobTable(database, LIMITS);
    const webhookUrl = 'https://receiver.example/';
    for (const job of [newJob(), newJob(), newJob({ webhookUrl })]) {
      submit(table, job);
      cancel(table, job.id, Date.now());
    }
    submit(table, newJob());
    migrate(database);
    const [one] = database.all('select bytes from jobs limit 1');
    expect(database.all('select * from removable')).toEqual([
      { jobs: 2, bytes: 2 * Number(one?.['bytes']) },
    ]);
  });

  it('find the jobs of an owner in one state without reading those in others', () => {
    migrate(database);
    expect(planOf(listQuery(true), 5)).toMatch(/^SEARCH jobs USING INDEX jobs_owned_by_state/);
    expect(planOf(listQuery(false), 4)).toMatch(/^SEARCH jobs USING INDEX jobs_owned \(/);
  });

  it('find the oldest job that may be removed without reading others', () => {
    migrate(database);
    const removable = `finished_at is not null and webhook_state is not 'pending'`;
    const query = `select seq, bytes from jobs where ${removable} order by finished_at, seq limit 1`;
    expect(planOf(query, 0)).toMatch(/^(?:SCAN|SEARCH) jobs USING INDEX jobs_removable[^;]*$/);
  });
});
