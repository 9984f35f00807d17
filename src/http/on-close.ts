import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What is still to be called when a socket closes. */
const waiting = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back exactly once when a response is over, whether it was sent or its client left. A
 * response that waits behind another one on the same connection has no socket yet and does not
 * notice when that closes, so the socket is watched as well.
 */
export function onceClosed(response: ServerResponse, socket: Socket, callback: () => void): void {
  const callbacks = callbacksOf(socket);
  const finish = (): void => {
    if (callbacks.delete(finish)) callback();
  };
  callbacks.add(finish);
  response.once('close', finish);
  if (socket.destroyed) finish();
}

function callbacksOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket);
  if (known !== undefined) return known;
  const callbacks = new Set<() => void>();
  waiting.set(socket, callbacks);
  socket.once('close', () => {
    for (const finish of callbacks) finish();
  });
  return callbacks;
}
