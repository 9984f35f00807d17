import { Type } from 'typebox';
import { integer, KiB, MiB } from './kinds.js';

/** As Standard Webhooks writes them: at least 24 bytes. */
export const WEBHOOK_SECRET = '^whsec_[A-Za-z0-9+/]{32,}={0,2}$';

/** Jobs: where they live, how many there may be, who is told about them. */
export const jobSettings = {
  queue: Type.String({
    pattern: '^(embedded|off|rediss?://.+)$',
    default: 'embedded',
    description:
      'Where jobs are kept. `embedded`: in `data_dir`, for one server. `redis://…`: in Redis, for several servers and workers. `off`: no jobs.',
  }),
  queue_prefix: Type.String({
    pattern: '^[a-z0-9][a-z0-9._-]{0,31}$',
    default: 'shoal',
    description: 'What the names of all keys in Redis begin with.',
  }),
  data_dir: Type.String({
    default: '',
    description:
      'Where the embedded queue keeps its jobs; one server per folder. Empty: `shoal` in the data folder of this user.',
  }),
  worker: Type.Boolean({
    default: true,
    without: 'Only take jobs in this server, and leave them to workers.',
    description: 'Run jobs in this server too. With `--no-worker` it only takes them.',
  }),
  max_job_images: integer(1, 1000, 100, 'Images in one job.'),
  max_job_bytes: integer(1 * KiB, 1024 * MiB, 64 * MiB, 'Bytes of all images of one job.'),
  max_open_jobs: integer(
    1,
    10_000_000,
    100_000,
    'Jobs that wait or run. More are refused with 429.',
  ),
  max_store_bytes: integer(
    1 * MiB,
    2 ** 50,
    4096 * MiB,
    'What all jobs may occupy. Finished ones are removed first, then new ones refused with 507.',
  ),
  job_expires_s: integer(
    1,
    30 * 86_400,
    86_400,
    'A job that is not finished after this many seconds expires, unless it says otherwise (`expires_in`).',
  ),
  job_keep_s: integer(
    1,
    365 * 86_400,
    86_400,
    'How many seconds a finished job and its results are kept.',
  ),
  job_keep_count: integer(0, 10_000_000, 100_000, 'How many finished jobs are kept.'),
  job_lease_ms: integer(
    1000,
    3_600_000,
    30_000,
    'A job whose worker has been silent for this long is given to another one.',
  ),
  webhook_secrets: Type.Array(Type.String({ pattern: WEBHOOK_SECRET }), {
    default: [],
    description:
      'Secrets that webhooks are signed with, `whsec_` and base64. None: jobs with a webhook are refused. Two: while receivers change from one to the other.',
  }),
  webhook_allow: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'Private addresses that webhooks may go to, as `10.1.2.3` or `10.0.0.0/8`. Public ones always may.',
  }),
  webhook_timeout_ms: integer(100, 120_000, 10_000, 'How long a webhook may take.'),
};
