import * as consumer from './lua/consumer.js';
import { PRELUDE } from './lua/prelude.js';
import * as producer from './lua/producer.js';
import { SWEEP } from './lua/sweep.js';

/**
 * Every change of a job is one script, so nobody sees half of it and two that come at the same
 * moment are done one after the other.
 */
const BODIES = {
  submit: producer.SUBMIT,
  probe: producer.PROBE,
  makeRoom: producer.MAKE_ROOM,
  read: producer.READ,
  list: producer.LIST,
  cancel: producer.CANCEL,
  reopen: producer.REOPEN,
  purge: producer.PURGE,
  stats: producer.STATS,
  start: consumer.START,
  settle: consumer.SETTLE,
  requeue: consumer.REQUEUE,
  progress: consumer.PROGRESS,
  check: consumer.CHECK,
  delivery: consumer.DELIVERY,
  delivered: consumer.DELIVERED,
  sweep: SWEEP,
};

export type ScriptName = keyof typeof BODIES;

export const SCRIPTS: readonly (readonly [ScriptName, string])[] = (
  Object.entries(BODIES) as [ScriptName, string][]
).map(([name, body]) => [name, PRELUDE + body]);
