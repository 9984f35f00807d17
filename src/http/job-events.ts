import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ShoalError } from '../errors.js';
import { isFinal, type JobRecord } from '../jobs/job.js';
import { viewJob } from '../jobs/job-view.js';
import type { JobWatchers } from '../jobs/watchers.js';

/** Proxies close connections on which nothing happens. */
const HEARTBEAT_MS = 15_000;

interface Source {
  readonly watchers: JobWatchers;
  /** The job as it is now. @throws when it is gone */
  read(): Promise<JobRecord>;
}

/**
 * Streams a job as server-sent events: as it is, then after every change, until it has ended. Every
 * event is the whole job, so a client that misses one misses nothing.
 */
export async function followJob(
  request: FastifyRequest,
  reply: FastifyReply,
  source: Source,
): Promise<void> {
  const { context } = request;
  const { watchers } = source;
  const first = await source.read();
  let seen = lastSeen(request.headers['last-event-id'], first.version);
  if (isFinal(first.state) && first.version <= seen) {
    // Anything else would make a browser come back again and again.
    void reply.code(204).send();
    return;
  }
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Otherwise nginx would collect events before it passes them on.
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
  });
  raw.flushHeaders();
  using watch = watchers.watch((request.params as { id: string }).id);
  context.onClientGone = () => {
    watch[Symbol.dispose]();
  };
  const heartbeat = setInterval(() => {
    if (raw.writableLength === 0) raw.write(': still here\n\n');
  }, HEARTBEAT_MS);
  try {
    while (!context.isClosed) {
      const job = await source.read();
      if (job.version > seen) {
        seen = job.version;
        await write(raw, `event: job\nid: ${String(seen)}\ndata: ${text(job)}\n\n`);
      }
      if (isFinal(job.state) || watchers.isClosed) break;
      await watch.next(HEARTBEAT_MS);
    }
  } catch (error) {
    // Gone, or unreadable for now. The client comes back by itself and is told by the status.
    if (!(error instanceof ShoalError)) throw error;
  } finally {
    clearInterval(heartbeat);
    raw.end();
  }
}

/** A slow reader gets fewer events, not a longer queue of them. */
export async function write(raw: Writable, event: string): Promise<void> {
  if (raw.write(event) || raw.destroyed) return;
  const over = new AbortController();
  const { signal } = over;
  // Whichever comes second is not waited for any longer.
  const waits = [once(raw, 'drain', { signal }), once(raw, 'close', { signal })];
  await Promise.race(waits).catch(() => undefined);
  over.abort();
  await Promise.allSettled(waits);
}

function text(job: JobRecord): string {
  return JSON.stringify(viewJob(job, Date.now()));
}

/** What is ahead of the job is no version of it, and must not hide what comes. */
export function lastSeen(header: string | string[] | undefined, version: number): number {
  const seen = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : 0;
  return seen > version ? 0 : seen;
}
