import { setMaxListeners } from 'node:events';
import { ConfigError } from '../../config/load.js';
import { checkWritable } from '../files.js';
import { JobsClient } from './client.js';
import type { JobsContext } from './context.js';
import { isClosedPipe } from './output.js';
import { persist } from './persist.js';
import { SubmitProgress } from './progress.js';
import { ResultsFile } from './results-file.js';
import { newRunKey } from './submission-key.js';
import type { SubmitArgs } from './submit-args.js';
import { interruptedText, stoppedText, summaryText } from './submit-report.js';
import { SubmitRun } from './submit-run.js';
import { countOf, walk } from './walk.js';

const INTERRUPTED = 130;

/** `shoal jobs submit`. @returns the exit code */
export async function submitJobs(args: SubmitArgs, context: JobsContext): Promise<number> {
  const { paths, isWaiting } = args;
  const { clock, err, interrupt } = context;
  const total = await countOf(walk({ paths }));
  if (total === 0) {
    throw new ConfigError(`there are no images (.jpg .jpeg .png .webp) in ${paths.join(', ')}`);
  }
  checkWritable('out', args.out);
  const stop = stopWith(interrupt);
  const client = new JobsClient(args.connection, stop.signal);
  const runKey = args.resumeKey ?? newRunKey();
  const progress = new SubmitProgress(err, clock, total, isWaiting);
  const startedAt = clock.now();
  try {
    // Before anything is read: a wrong address or key is not a matter of patience.
    const how = { clock, patienceMs: 0, signal: stop.signal, onTrouble: progress.onTrouble };
    await persist(() => client.list({ limit: 1 }), how);
    const results = new ResultsFile(args.out, context.out);
    try {
      const run = new SubmitRun({ args, client, runKey, clock, progress, results, stop });
      await run.toEnd();
      progress.stop();
      progress.tell(summaryText(progress.tally, args, clock.now() - startedAt));
      const { failed, refused } = progress.tally;
      return failed + refused > 0 || run.hasUnreadable ? 1 : 0;
    } finally {
      await results.close();
    }
  } catch (error) {
    progress.stop();
    const state = { tally: progress.tally, args, runKey };
    if (interrupt.aborted) {
      progress.tell(interruptedText(state));
      return INTERRUPTED;
    }
    if (progress.tally.submitted > 0 && !isClosedPipe(error)) progress.tell(stoppedText(state));
    throw error;
  } finally {
    progress.stop();
    stop.abort();
  }
}

/** Ends with Ctrl-C, or when something went wrong for good. */
function stopWith(interrupt: AbortSignal): AbortController {
  const stop = new AbortController();
  // Every request in flight listens.
  setMaxListeners(0, stop.signal);
  interrupt.addEventListener('abort', () => {
    stop.abort(interrupt.reason);
  });
  if (interrupt.aborted) stop.abort(interrupt.reason);
  return stop;
}
