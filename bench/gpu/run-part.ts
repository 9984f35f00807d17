import { Children } from '../../src/tune/children.js';
import type { Context, Part } from './context.js';
import type { PartName } from './options.js';
import type { PartOutcome } from './results.js';

/** Carries a part out, at most for so long. Never throws: what went wrong is in the outcome. */
export async function runPart(
  name: PartName,
  part: Part,
  context: Omit<Context, 'isOver' | 'children'>,
  limitSeconds: number,
): Promise<PartOutcome> {
  const started = performance.now();
  // Of its own: what is left of a part that was given up must not end the next one's.
  const children = new Children();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isOver = true;
      reject(new Error(`not done after ${limitSeconds.toFixed(0)} s`));
    }, limitSeconds * 1000);
  });
  const failuresBefore = context.results.failures.length;
  const seconds = (): number => (performance.now() - started) / 1000;
  const work = Promise.resolve({ ...context, children, isOver: () => isOver }).then(part);
  try {
    await Promise.race([work, timeout]);
    const failures = context.results.failures.length - failuresBefore;
    return failures === 0
      ? { part: name, outcome: 'done', seconds: seconds() }
      : { part: name, outcome: 'done', seconds: seconds(), why: `${String(failures)} failed` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { part: name, outcome: 'failed', seconds: seconds(), why };
  } finally {
    clearTimeout(timer);
    children.killAll();
    // It ends by itself now that its processes are gone, and nobody looks at how.
    const end = (): void => {
      children.close();
    };
    work.then(end, end);
  }
}
