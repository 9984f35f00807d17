import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../src/load/random.js';
import type { Call } from './deliveries.js';

export interface CountingReceiver {
  readonly url: string;
  readonly calls: readonly Call[];
  close(): Promise<void>;
}

/** How often it answers with an error or hangs up; each costs some seconds of waiting. */
const TROUBLE = 0.03;

/** Writes down every call, and is not always at its best. */
export async function startReceiver(random: Random): Promise<CountingReceiver> {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    // Whoever is killed while sending is not to be answered.
    request.on('error', () => undefined);
    request.on('end', () => {
      const status = random() >= TROUBLE ? 200 : random() < 0.5 ? 500 : undefined;
      const { headers } = request;
      calls.push({ headers, body: Buffer.concat(pieces).toString(), status });
      if (status === undefined) request.socket.destroy();
      else response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}/hook`,
    calls,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
