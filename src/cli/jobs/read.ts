import type { JobView } from '../../jobs/job-view.js';
import type { JobState } from '../../jobs/job.js';
import type { JobsContext } from './context.js';
import { untilEnded } from './follower.js';
import { jobText } from './job-text.js';
import type { ListArgs, ShowArgs, WaitArgs } from './manage-args.js';
import { write } from './output.js';
import { Session } from './session.js';
import { JobTable } from './table.js';

/** The most that a server gives at once. */
const PAGE = 100;

/** `shoal jobs list`: page by page, so that a long list begins at once. */
export async function listJobs(args: ListArgs, context: JobsContext): Promise<number> {
  const session = new Session(args.connection, context);
  const table = new JobTable();
  let isEmpty = true;
  for await (const jobs of pages(session, args.state, args.limit)) {
    isEmpty &&= jobs.length === 0;
    const text = args.isJson ? jobs.map(jsonLine).join('') : table.page(jobs, context.clock.now());
    if (jobs.length > 0) await write(context.out, text);
  }
  if (isEmpty && !args.isJson) context.err.write('There are no such jobs.\n');
  return 0;
}

export async function* pages(
  session: Session,
  state: JobState | undefined,
  limit: number,
): AsyncGenerator<readonly JobView[]> {
  let cursor: string | undefined;
  let left = limit;
  do {
    const query = { state, limit: Math.min(left, PAGE), cursor };
    const page = await session.ask((client) => client.list(query));
    yield page.jobs.slice(0, left);
    left -= page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== undefined && left > 0);
}

/** `shoal jobs show`. */
export async function showJobs(args: ShowArgs, context: JobsContext): Promise<number> {
  const session = new Session(args.connection, context);
  for (const id of args.ids) {
    await print(await session.ask((client) => client.get(id)), args, context);
  }
  return 0;
}

/** `shoal jobs wait`: the exit code says whether all were completed. */
export async function waitForJobs(args: WaitArgs, context: JobsContext): Promise<number> {
  const session = new Session(args.connection, context);
  // A wrong address or id is not a matter of patience.
  for (const id of args.ids) await session.ask((client) => client.get(id));
  let isGood = true;
  for (const id of args.ids) {
    const job = await untilEnded(id, session.client, session.how(args.patienceMs));
    isGood &&= job.state === 'completed';
    await print(job, args, context);
  }
  return isGood ? 0 : 1;
}

function print(job: JobView, { isJson }: ShowArgs, { out, clock }: JobsContext): Promise<void> {
  return write(out, isJson ? jsonLine(job) : jobText(job, clock.now()));
}

function jsonLine(job: JobView): string {
  return `${JSON.stringify(job)}\n`;
}
