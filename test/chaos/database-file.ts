import { DatabaseSync } from '@photostructure/sqlite';
import type { Judgement } from './judge.js';

/** What SQLite itself finds wrong with its file, and how much the kills have hit. */
export function inspectFile(file: string): Judgement {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare('pragma integrity_check').all() as { integrity_check: string }[];
    const found = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    const hit = database
      .prepare('select count(*) as jobs, sum(losses) as losses from jobs where losses > 0')
      .get() as { jobs: number; losses: number | null };
    return {
      violations: found.map((text) => `database: ${text}`),
      counts: { 'jobs hit while they ran': hit.jobs, 'times they were hit': hit.losses ?? 0 },
    };
  } finally {
    database.close();
  }
}
