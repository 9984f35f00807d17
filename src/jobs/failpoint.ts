import { failpointChances } from '../config/environment.js';

/** Moments at which a crash must lose nothing. */
export type Failpoint =
  | 'submit.written'
  | 'submit.durable'
  | 'claim.taken'
  | 'run.done'
  | 'verdict.durable'
  | 'webhook.sent';

const chances = failpointChances();

/**
 * In tests that ask for it, the process kills itself here now and then, as `kill -9` would. Does
 * nothing anywhere else.
 */
export function failpoint(name: Failpoint): void {
  const chance = chances.get(name);
  if (chance !== undefined && Math.random() < chance) process.kill(process.pid, 'SIGKILL');
}
