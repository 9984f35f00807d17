import { ConfigError } from '../../config/load.js';
import type { JobView } from '../../jobs/job-view.js';
import { count } from '../words.js';
import type { JobsContext } from './context.js';
import { Refusal } from './failures.js';
import type { ChangeArgs, PurgeArgs } from './manage-args.js';
import { write } from './output.js';
import { pages } from './read.js';
import { Session } from './session.js';

/** `shoal jobs cancel`. What has ended stays as it is, which is no failure. */
export function cancelJobs(args: ChangeArgs, context: JobsContext): Promise<number> {
  return changeEach(args, context, async (session, id) => {
    const { state } = await session.ask((client) => client.cancel(id));
    return state === 'cancelled' ? 'cancelled' : `stays ${state}`;
  });
}

/** `shoal jobs retry`. */
export function retryJobs(args: ChangeArgs, context: JobsContext): Promise<number> {
  return changeEach(args, context, async (session, id) => {
    const { state } = await session.ask((client) => client.retry(id));
    return state;
  });
}

/** One by one; what does not work with one does not stop the rest. */
async function changeEach(
  { connection, jobs }: ChangeArgs,
  context: JobsContext,
  change: (session: Session, id: string) => Promise<string>,
): Promise<number> {
  const session = new Session(connection, context);
  const ids = typeof jobs === 'string' ? await idsIn(session, jobs) : jobs;
  let failed = 0;
  for (const id of ids) {
    try {
      await write(context.out, `${id}  ${await change(session, id)}\n`);
    } catch (error) {
      if (!(error instanceof Refusal) || !isAboutOne(error)) throw error;
      // Somebody else was faster; it was asked for by its state, and is not in it any more.
      if (typeof jobs === 'string') continue;
      failed++;
      context.err.write(`${id}: ${error.message}\n`);
    }
  }
  if (typeof jobs === 'string' && ids.length === 0) {
    context.err.write(`There are no ${jobs} jobs.\n`);
  }
  return failed > 0 ? 1 : 0;
}

/** All of them before any is changed, since changes move what a list shows. */
async function idsIn(session: Session, state: JobView['state']): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const jobs of pages(session, state, Infinity)) ids.push(...jobs.map(({ id }) => id));
  return ids;
}

function isAboutOne({ problem }: Refusal): boolean {
  return problem.code === 'job_not_found' || problem.code === 'job_conflict';
}

/** `shoal jobs purge`: asks, because nothing brings the results back. */
export async function purgeJobs(args: PurgeArgs, context: JobsContext): Promise<number> {
  const { connection, states, isSure } = args;
  if (!isSure) {
    if (context.ask === undefined) throw new ConfigError('say --yes to remove jobs unasked');
    const what = `all ${states.join(', ')} jobs and their results at ${connection.url.origin}`;
    const answer = await context.ask(`Remove ${what}? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) {
      context.err.write('Nothing was removed.\n');
      return 1;
    }
  }
  const removed = await new Session(connection, context).ask((client) => client.purge(states));
  await write(context.out, `${count(removed, 'job')} removed\n`);
  return 0;
}
