import { type ChildProcess, fork } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';

export interface StartedFront {
  readonly child: ChildProcess;
  /** A socket pair: there is no path to guess, and either side sees it close. */
  readonly socket: Duplex;
}

/** @throws when there is no process to talk to */
export function startFront(): StartedFront {
  // Built code in either case: children cannot be started from TypeScript.
  const exec = fileURLToPath(new URL('../../dist/front/main.js', import.meta.url));
  const child = fork(exec, {
    execArgv: ['--enable-source-maps'],
    // The fourth is the socket. The last is for connections, which only go this way.
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'ipc'],
  });
  // Not there when no file could be opened for it, whatever the typings say.
  const socket = (child.stdio as readonly unknown[] | undefined)?.[3];
  if (socket !== undefined && socket !== null) return { child, socket: socket as Duplex };
  // It says the same once more, later.
  child.on('error', () => undefined);
  throw new Error('there are no file descriptors left for it');
}
