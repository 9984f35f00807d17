/** The entry of a front. Started by the server process, and only by it. */
import { setFlagsFromString } from 'node:v8';
import { Socket } from 'node:net';

const SOCKET_FD = 3;

// As in the server process: request bodies are garbage that lies outside the heap.
setFlagsFromString('--heap-growing-percent=200');
// Ctrl-C reaches the whole process group; the server process decides when its fronts end.
process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);

const { Front } = await import('./front.js');
const front = new Front(new Socket({ fd: SOCKET_FD, readable: true, writable: true }));
process.on('message', (_message, connection) => {
  front.take(connection as Socket | undefined);
});
