import type { Database } from './database.js';

/**
 * Each entry brings a database from one version to the next; none is ever changed afterwards.
 * `totals`, `waiting` and `removable` are kept by triggers, so that counting never means reading all
 * jobs.
 */
const MIGRATIONS: readonly string[] = [
  `
  create table jobs (
    seq integer primary key autoincrement,
    id text not null unique,
    owner text not null,
    model text not null,
    priority integer not null,
    threshold real not null,
    image_count integer not null,
    image_bytes integer not null,
    webhook_url text,
    created_at integer not null,
    expires_at integer not null,
    state text not null,
    version integer not null,
    tries integer not null,
    losses integer not null,
    started_at integer,
    finished_at integer,
    done integer not null,
    problem text,
    -- Not taken before; the fence against whoever lost it; when it is lost.
    ready_at integer not null,
    token integer not null,
    lease_until integer,
    webhook_state text,
    webhook_attempts integer not null,
    webhook_reason text,
    webhook_due_at integer,
    -- What it occupies with its images and results.
    bytes integer not null,
    results text
  ) strict;
  create index jobs_queued on jobs (model, priority, seq) where state = 'queued';
  create index jobs_running on jobs (lease_until) where state = 'running';
  create index jobs_open on jobs (expires_at) where state in ('queued', 'running');
  create index jobs_finished on jobs (finished_at, seq) where finished_at is not null;
  create index jobs_owned on jobs (owner, created_at, seq);
  create index jobs_webhooks on jobs (webhook_due_at) where webhook_state = 'pending';

  create table images (
    job integer not null references jobs (seq) on delete cascade,
    place integer not null,
    bytes blob not null
  ) strict;
  create unique index images_of_job on images (job, place);

  create table idempotency (
    owner text not null,
    key text not null,
    fingerprint text not null,
    job integer not null references jobs (seq) on delete cascade,
    primary key (owner, key)
  ) strict, without rowid;
  create index idempotency_of_job on idempotency (job);

  create table totals (state text primary key, jobs integer not null, bytes integer not null)
    strict, without rowid;
  insert into totals values ('queued', 0, 0), ('running', 0, 0), ('completed', 0, 0),
    ('failed', 0, 0), ('cancelled', 0, 0), ('expired', 0, 0);
  create trigger jobs_added after insert on jobs begin
    update totals set jobs = jobs + 1, bytes = bytes + new.bytes where state = new.state;
  end;
  create trigger jobs_removed after delete on jobs begin
    update totals set jobs = jobs - 1, bytes = bytes - old.bytes where state = old.state;
  end;
  create trigger jobs_changed after update of state, bytes on jobs begin
    update totals set jobs = jobs - 1, bytes = bytes - old.bytes where state = old.state;
    update totals set jobs = jobs + 1, bytes = bytes + new.bytes where state = new.state;
  end;

  -- Those that wait for their next try; few, however many wait for their first.
  create index jobs_delayed on jobs (model, ready_at) where state = 'queued' and ready_at > 0;

  -- How many wait, so that the place of a new one is known without counting them.
  create table waiting (model text not null, priority integer not null, jobs integer not null,
    primary key (model, priority)) strict, without rowid;
  create trigger waiting_added after insert on jobs when new.state = 'queued' begin
    insert into waiting values (new.model, new.priority, 1)
      on conflict do update set jobs = jobs + 1;
  end;
  create trigger waiting_removed after delete on jobs when old.state = 'queued' begin
    update waiting set jobs = jobs - 1 where model = old.model and priority = old.priority;
  end;
  create trigger waiting_changed after update of state on jobs
    when (old.state = 'queued') <> (new.state = 'queued') begin
    update waiting set jobs = jobs + iif(new.state = 'queued', 1, -1)
      where model = new.model and priority = new.priority;
  end;
  `,
  `
  -- Finished jobs that may be removed: not those whose receiver is still to be told.
  drop index jobs_finished;
  create index jobs_removable on jobs (finished_at, seq)
    where finished_at is not null and webhook_state is not 'pending';
  create table removable (jobs integer not null, bytes integer not null) strict;
  insert into removable select count(*), coalesce(sum(bytes), 0) from jobs
    where finished_at is not null and webhook_state is not 'pending';
  create trigger removable_added after insert on jobs
    when new.finished_at is not null and new.webhook_state is not 'pending' begin
    update removable set jobs = jobs + 1, bytes = bytes + new.bytes;
  end;
  create trigger removable_removed after delete on jobs
    when old.finished_at is not null and old.webhook_state is not 'pending' begin
    update removable set jobs = jobs - 1, bytes = bytes - old.bytes;
  end;
  create trigger removable_left after update of finished_at, webhook_state, bytes on jobs
    when old.finished_at is not null and old.webhook_state is not 'pending' begin
    update removable set jobs = jobs - 1, bytes = bytes - old.bytes;
  end;
  create trigger removable_entered after update of finished_at, webhook_state, bytes on jobs
    when new.finished_at is not null and new.webhook_state is not 'pending' begin
    update removable set jobs = jobs + 1, bytes = bytes + new.bytes;
  end;

  -- A list of one state reads no jobs in other states.
  create index jobs_owned_by_state on jobs (owner, state, created_at, seq);
  `,
];

/**
 * @param to another version than the newest, in tests only
 * @throws when the database comes from a newer version
 */
export function migrate(database: Database, to = MIGRATIONS.length): void {
  const version = Number(database.get('pragma user_version')?.['user_version'] ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Error('the jobs were written by a newer version of Shoal');
  }
  for (const [at, script] of MIGRATIONS.entries()) {
    if (at < version || at >= to) continue;
    database.transaction(() => {
      database.script(script);
      database.script(`pragma user_version = ${String(at + 1)}`);
    });
  }
}
