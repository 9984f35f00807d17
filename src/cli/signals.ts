import type { ShoalServer } from '../server.js';
import type { Log } from '../telemetry/log.js';

/**
 * SIGTERM and Ctrl-C drain. A second SIGTERM changes nothing, since orchestrators repeat it; a
 * second Ctrl-C is a person who does not want to wait. The result takes the server once it serves.
 */
export function handleSignals(log: Log): (server: ShoalServer) => void {
  let server: ShoalServer | undefined;
  let isDraining = false;
  const handle = (signal: NodeJS.Signals): void => {
    if (isDraining) {
      if (signal === 'SIGINT') process.exit(130);
      return;
    }
    // Nothing is served yet, so there is nothing to finish; engines notice and end.
    if (server === undefined) process.exit(0);
    isDraining = true;
    log.info({ signal }, 'draining');
    server.drain().then(
      (cutOff) => {
        if (cutOff > 0) log.warn({ cut_off: cutOff }, 'stopped before all requests were done');
        else log.info('stopped');
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle).on('SIGINT', handle);
  return (started) => {
    server = started;
  };
}
