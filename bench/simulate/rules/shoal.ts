import type { BatchingMode } from '../../../src/engine/messages.js';
import { Engine } from '../engine.js';
import { type Rule, WINDOW_MS } from '../rule.js';

/** What admission allows: an item that would wait longer is told so at once. */
const MAX_WAIT_MS = 500;

function shoal(name: string, mode: BatchingMode, windowMs = WINDOW_MS): Rule {
  const options = { mode, windowMs, maxWaitMs: MAX_WAIT_MS };
  return { name, create: (world) => new Engine(world, options) };
}

export const ADAPTIVE = shoal('adaptive', 'adaptive');
/** What is left of it when it may never wait. Not a competitor: it shows what waiting does. */
export const NEVER_WAIT = shoal('adaptive, window 0', 'adaptive', 0);
/** The same server with `--batching fixed`: the plain "collect for ten milliseconds". */
export const FIXED = shoal('fixed 10 ms', 'fixed');
