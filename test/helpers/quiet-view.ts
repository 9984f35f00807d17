import type { BatchView } from '../../src/engine-process/policy.js';

/** What the policy sees when nothing waits and nothing is expected. */
export const QUIET: BatchView = {
  waiting: 0,
  background: 0,
  oldestMs: 0,
  slackMs: 1000,
  idleSessions: 1,
  arrivalsPerMs: 0,
  company: 0,
  drift: 1,
  perItemMs: 0,
};
