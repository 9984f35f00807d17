import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { endWithThis } from './end-with-this.js';

export interface BenchRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** A Redis of its own that writes every command to disk, as the embedded store does. */
export async function startRedis(folder: string): Promise<BenchRedis> {
  mkdirSync(folder, { recursive: true });
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const port = String((probe.address() as AddressInfo).port);
  probe.close();
  await once(probe, 'close');
  const child = spawn(
    'redis-server',
    [
      ...['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  endWithThis(child);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(new Error(`redis-server ended with code ${String(code)}`));
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      const exit = once(child.removeAllListeners('exit'), 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}
