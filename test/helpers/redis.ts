import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './server.js';

const isInstalled = spawnSync('redis-server', ['--version']).status === 0;

/**
 * Whether suites that need Redis must be left out. Where it is required, nothing is left out: they
 * fail.
 */
export function isWithoutRedis(suite: string): boolean {
  if (isInstalled || process.env['TEST_REQUIRE_REDIS'] === '1') return false;
  console.error(`SKIPPED: ${suite} needs redis-server, run tools/test-tools.sh`);
  return true;
}

/** A real redis-server on a free port, with its own folder. */
export class RedisServer {
  readonly port: number;
  readonly #dir: string;
  readonly #settings: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #output = '';

  private constructor(
    port: number,
    settings: readonly string[],
    env: Readonly<Record<string, string>>,
  ) {
    this.port = port;
    this.#dir = mkdtempSync(join(tmpdir(), 'shoal-redis-'));
    this.#settings = settings;
    this.#env = env;
  }

  /** @param settings as in `redis.conf`: `['--maxmemory', '64mb']` */
  static async start(
    settings: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), settings, env);
    await server.restart();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}/0`;
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  /** Starts it again with what it had on disk. */
  async restart(): Promise<void> {
    const child = spawn(
      'redis-server',
      [
        ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#dir],
        ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
        ...['--maxmemory-policy', 'noeviction', ...this.#settings],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.#env } },
    );
    this.#child = child;
    // A test that ran out of time does not stop it.
    process.once('exit', () => child.kill('SIGKILL'));
    child.stdout.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', resolve);
    });
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended: ${this.#output}`);
      return /^(?:\+PONG|-NOAUTH)/.test(await this.send('PING').catch(() => ''));
    });
  }

  /** As if the machine had lost it. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** One command without spaces in its words; answers with what comes back, unparsed. */
  send(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket: Socket = connect(this.port, '127.0.0.1', () => socket.write(`${command}\r\n`));
      socket.setTimeout(1000, () => socket.destroy(new Error('no answer')));
      socket.once('data', (chunk) => {
        resolve(chunk.toString());
        socket.destroy();
      });
      socket.once('error', reject);
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => {
        resolve(port);
      });
    });
  });
}
