/** What the store could do at most: the same disk or the same Redis, without anything around it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { Redis } from 'ioredis';

/** Rows per second, each on disk before the next one begins. */
export function rawInserts(folder: string, bytes: Uint8Array, seconds: number): number {
  const own = mkdtempSync(join(folder, 'limit-'));
  const database = new DatabaseSync(join(own, 'limit.sqlite'));
  try {
    database.exec('pragma journal_mode = wal; pragma synchronous = full');
    database.exec('create table rows (bytes blob not null)');
    const insert = database.prepare('insert into rows values (?)');
    const start = performance.now();
    let count = 0;
    while (performance.now() - start < seconds * 1000) {
      insert.run(bytes);
      count++;
    }
    return (count * 1000) / (performance.now() - start);
  } finally {
    database.close();
    rmSync(own, { recursive: true });
  }
}

/** SETs per second over one connection, `concurrency` of them on the way at any time. */
export async function rawSets(
  url: string,
  bytes: Uint8Array,
  concurrency: number,
  seconds: number,
): Promise<number> {
  const redis = new Redis(url);
  const value = Buffer.from(bytes);
  const start = performance.now();
  let count = 0;
  const client = async (at: number): Promise<void> => {
    while (performance.now() - start < seconds * 1000) {
      await redis.set(`limit-${String(at)}`, value);
      count++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, at) => client(at)));
  const perSecond = (count * 1000) / (performance.now() - start);
  await redis.quit();
  return perSecond;
}
