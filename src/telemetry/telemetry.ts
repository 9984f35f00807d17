import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

/** What a part needs to say what it does. */
export interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
}
